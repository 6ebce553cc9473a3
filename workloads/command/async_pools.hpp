// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/cases/case.hpp"
#include "workloads/command/case_arguments.hpp"
#include "workloads/step/pipeline/stage_pool.hpp"

namespace shardmark::workloads {

/// How MPI is to be started: several threads use it where batches may be prefetched by threads of their own. What
/// is wrong with the arguments is told later.
comm::MpiThreads mpi_threads(const CaseArguments& arguments);

/// The one pool that takes cores from those that compute; a pool of another kind where there is none. Throws InputError
/// where cases differ in it: the threads that compute are those of the whole job. What is wrong with its name is told
/// later.
StagePool dedicated_pool(const std::vector<GivenOption>& given);

/// What the arguments leave of this rank's cores to those that compute, to which the calling thread is bound where they
/// are not all. Collective, before any other thread is made. Throws as dedicated_pool and share_cores do.
CoreShares core_shares(const comm::Communicator& world, const comm::Affinity& affinity, const CaseArguments& arguments);

/// Cases with the pools that are meant (pool_in_effect), those that are then the same once.
std::vector<Case> with_pools_in_effect(std::vector<Case> cases, const PoolFacts& facts);

/// What the user should know of these cases: why a pool that was left open is inline. Empty where none is.
std::string why_inline(const std::vector<GivenOption>& given, const std::vector<Case>& cases, const PoolFacts& facts);

}  // namespace shardmark::workloads
