// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/step/flight.hpp"
#include "workloads/transfer/row_exchange.hpp"

namespace shardmark::workloads {

/// Records in which step each row of a rank was last updated: of the shards that hold parts of tables, then of the
/// replicated ones, under their keys. It takes 4 bytes per row.
class RowVersions {
 public:
  explicit RowVersions(const GroupFlight& flight);

  /// Records that no row has been updated since version 0.
  void clear();

  /// Records that the step whose gradients the flight holds has made this version of the tables.
  void mark(const GroupFlight& flight, std::int64_t version);

  /// Sets stale[b] to 1 where the bag b of the flight reads a row that was updated after version `seen`. stale: [bags].
  void find_stale(GroupFlight& flight, std::int64_t seen, const DeviceArray<std::uint8_t>& stale) const;

 private:
  std::int64_t exchanged_keys_;
  DeviceArray<std::int32_t> updated_;
};

/// Counts how many pooled embeddings a rank looked up, and how many of them again.
struct PatchCounts {
  std::int64_t vectors = 0, again = 0;

  PatchCounts& operator+=(const PatchCounts& other) {
    vectors += other.vectors;
    again += other.again;
    return *this;
  }
};

/// Describes neighbouring elements that are copied from one array to another.
struct ElementRun {
  std::int64_t from = 0, to = 0, elements = 0;
};

/// Patches vectors that were looked up before earlier steps had updated their rows: owners look up again the bags with
/// a row that was updated since, and send only these vectors home, each to where the stale one lies. The values are
/// those of a lookup now, bit for bit. It runs between send_vectors and make_outputs of the flight.
class VectorPatch {
 public:
  /// Takes the flight, which outlives the object.
  explicit VectorPatch(GroupFlight& flight);

  /// Patches the stale vectors. Collective. seen: version of the tables that the lookup saw.
  PatchCounts run(const RowVersions& versions, std::int64_t seen);

 private:
  /// Names some vectors of a slot, by their numbers.
  struct Chosen {
    std::int64_t slot_vectors = 0;  ///< element of vector 0 among the vectors of the flight
    std::int64_t dim = 0;
    std::int64_t first = 0, count = 0;  ///< among the numbers of all slots
  };

  std::int64_t look_up_again(const std::vector<BagBlock>& blocks, TableLookups& lookups);
  void list_stale();
  void exchange_numbers();
  void send();
  static std::int64_t list_copies(const std::vector<Chosen>& slots, const std::vector<std::int32_t>& numbers,
                                  bool to_slots, std::vector<ElementRun>& runs);

  GroupFlight& flight_;
  TableLookups exchanged_, replicated_;
  RowExchange vectors_;
  comm::Route count_route_;  ///< of how many vectors of each slot go to each rank
  DeviceScratch<std::uint8_t> stale_scratch_{"shardmark::stale_bags"};
  HostElements<std::uint8_t> stale_elements_;
  std::span<const std::uint8_t> stale_;  ///< by bag
  std::vector<BagBlock> blocks_;
  std::vector<Chosen> owner_, home_;                      ///< by (rank, own slot), by slot
  std::vector<std::int32_t> owner_counts_, home_counts_;  ///< likewise
  std::vector<std::int32_t> owner_numbers_, home_numbers_;
  RowBlocks row_blocks_;
  HostList<ElementRun> gathered_, scattered_;
  DeviceScratch<float> sent_{"shardmark::patch_sent"}, received_{"shardmark::patch_received"};
};

}  // namespace shardmark::workloads
