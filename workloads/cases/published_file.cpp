// SPDX-License-Identifier: Apache-2.0
#include "workloads/cases/published_file.hpp"

#include <fmt/format.h>

#include <tuple>

#include "reference/input_file.hpp"
#include "workloads/builtin_published.hpp"
#include "workloads/cases/spec_keys.hpp"

namespace shardmark::workloads {
namespace spec_keys {

void keys_of(Keys& keys, PublishedCase& one) {
  keys.must("workload", one.workload, "built-in workload or spec file");
  keys.may("group", one.group, "whose errors are summed up together");
  keys.may("software", one.software, "what ran it");
  keys.may("machine", one.step.machine, "a described machine or a machine file");
  keys.may("nodes", one.nodes, "nodes of the ranks", "nodes");
  keys.at_least(1, "nodes", one.nodes.value_or(1));
  keys.may("global_batch", one.global_batch, "samples of a step, over all ranks", "samples");
  keys.at_least(1, "global_batch", one.global_batch.value_or(1));
  keys_of_run(keys, one.step);
  if (one.step.ms == 0.0) keys.fail("ms", "\"ms\" must be above 0");
  if (one.nodes && one.step.ranks % *one.nodes != 0)
    keys.fail("nodes", fmt::format("\"nodes\": {} ranks are not evenly on {} nodes", one.step.ranks, *one.nodes));
}

void keys_of(Keys& keys, PublishedFile& file) {
  std::string format(published_format);
  keys.must("format", format, "format of the file");
  if (format != published_format && format + "/1" != published_format)  // no number: the first version
    keys.fail("format", fmt::format("\"format\" is \"{}\", not \"{}\"", format, published_format));
  keys.must("title", file.title, "what was published");
  keys.may("notice", file.notice, "stands wherever a number of the file is shown");
  keys.may("description", file.description, "for readers");
  keys.list("steps", file.steps, {}, "the steps");
  if (file.steps.empty()) keys.fail("steps", "\"steps\" has none");
}

}  // namespace spec_keys

namespace {

PublishedFile published_of(std::string_view text, const std::string& origin) {
  PublishedFile file;
  spec_keys::Keys::read_text(text, origin, file);
  return file;
}

}  // namespace

bool PublishedCase::differs_in_ranks_alone(const PublishedCase& other) const {
  const auto rest = [](const PublishedCase& of) {
    return std::tie(of.workload, of.group, of.software, of.global_batch, of.step.settings, of.step.machine,
                    of.step.plan, of.step.ids_at_owners, of.step.evaluations);
  };
  return rest(*this) == rest(other) && step.ranks != other.step.ranks;
}

std::vector<std::string> builtin_published() {
  std::vector<std::string> names;
  for (const BuiltinPublished& file : builtin_published_files) names.emplace_back(file.name);
  return names;
}

PublishedFile load_published(const std::string& name_or_file) {
  if (!name_or_file.ends_with(".json"))
    return published_of(
        choice_named(builtin_published_files, "published steps (or file ending in .json)", name_or_file).text,
        name_or_file);
  const auto text = file_text(name_or_file);
  if (!text)
    throw InputError(name_or_file + ": cannot be read; name a file of published steps (shardmark list published)");
  return published_of(*text, name_or_file);
}

}  // namespace shardmark::workloads
