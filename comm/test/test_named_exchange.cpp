// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "comm/exchange/exchanges.hpp"
#include "comm/exchange/named_exchange.hpp"
#include "reference/error.hpp"

namespace shardmark::comm {
namespace {

std::string refusal_of(std::string_view text) {
  try {
    exchange_named(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(NamedExchange, KnowsEveryNameOfTheTable) {
  ASSERT_EQ(all_exchanges().size(), exchanges.size());
  for (const auto& exchange : all_exchanges()) {
    EXPECT_EQ(exchange_named(exchange.choice->name).name(), exchange.name());
    EXPECT_EQ(exchange_named(exchange.name()).name(), exchange.name());
  }
}

TEST(NamedExchange, RefusesWhatIsNone) {
  const std::string unknown = refusal_of("nosuch");
  EXPECT_NE(unknown.find("'nosuch'"), std::string::npos);
  for (const auto& choice : exchanges) EXPECT_NE(unknown.find(choice.name), std::string::npos);
  for (const auto text : {"", ":", ":4", "pairwise :4", "all"}) EXPECT_NE(refusal_of(text), "") << text;
}

TEST(NamedExchange, RefusesANumberWhereNoneIsTaken) {
  EXPECT_EQ(refusal_of("pairwise:4"), "exchange 'pairwise' takes no number: ':4'");
  EXPECT_NE(refusal_of("pairwise:"), "");
}

TEST(NamedExchange, RefusesNumbersThatDoNotFit) {
  for (const auto& choice : exchanges) {
    if (!choice.number.taken()) continue;
    const std::string name(choice.name);
    for (const auto* number : {"", "0", "-3", "x", "4x", "4.5", " 4", "99999999999999"})
      EXPECT_NE(refusal_of(name + ":" + number), "") << name << ":" << number;
    EXPECT_NE(refusal_of(name + ":" + std::to_string(choice.number.least - 1)), "");
    EXPECT_EQ(refusal_of(name + ":" + std::to_string(choice.number.least)), "");
  }
}

TEST(UsableExchanges, AreThoseAskedForAndAllMeansAllThatWork) {
  const Communicator comm(MPI_COMM_WORLD);
  const std::vector<std::string> names{"pairwise", "all"};
  std::vector<std::string> expected{"pairwise"};
  for (const auto& exchange : all_exchanges())
    if (exchange.unusable(comm).empty()) expected.push_back(exchange.name());
  std::vector<std::string> found;
  for (const auto& exchange : usable_exchanges(comm, names)) found.push_back(exchange.name());
  EXPECT_EQ(found, expected);
}

TEST(UsableExchanges, RefuseOneThatCannotBeUsed) {
  const Communicator comm(MPI_COMM_WORLD);
  for (const auto& exchange : all_exchanges()) {
    const std::vector<std::string> names{exchange.name()};
    if (exchange.unusable(comm).empty()) continue;
    EXPECT_THROW(usable_exchanges(comm, names), InputError) << exchange.name();
    EXPECT_THROW(exchange.make(comm), InputError) << exchange.name();
  }
}

}  // namespace
}  // namespace shardmark::comm
