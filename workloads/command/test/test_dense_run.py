#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`shardmark run` with a dense model, on data and on generated samples."""
from program import ProgramTest, main, records


class DenseRun(ProgramTest):
    def test_dense_models_are_trained_on_data_and_on_generated_samples(self):
        tsv = str(self.folder / "data.tsv")
        self.succeeds(self.serial("data", "generate", "criteo", "--out", tsv, "--samples", "2000"))
        for ranks, dense, data in ((1, "dlrm", tsv), (2, "dlrm", tsv), (3, "mlp", None), (2, "exact", None)):
            with self.subTest(dense=dense, ranks=ranks):
                outcome, file = self.case(ranks, plan="row_wise", batch=48, dense=dense, **({"data": data} if data else {}))
                self.assertEqual(self.succeeds(outcome).last_line(), "RESULT: VALID")
                case = records(file)[1]
                self.assertEqual((case["options"]["dense"], case["wrong"]), (dense, 0))
                self.assertEqual("loss" in case, dense != "exact")  # whose head is not trained
                if dense != "exact":
                    self.assertGreater(case["loss"], 0)
                    self.assertTrue(0 <= case["auc"] <= 1, case["auc"])
                self.assertEqual(case["phases"]["dense"]["bytes"] > 0, ranks > 1 and dense != "exact")

    def test_loss_and_auc_are_of_samples_that_the_model_has_not_seen(self):
        losses = []
        for batches in (1, 4):
            outcome, file = self.case(1, batch=48, dense="dlrm", batches=batches, train=40, steps=60)
            self.succeeds(outcome)
            self.assertIn("each on new samples", outcome.out)
            losses.append(records(file)[1]["loss"])
        self.assertEqual(losses[0], losses[1])  # the batches that are timed in turns play no part
        tsv = str(self.folder / "short.tsv")
        self.succeeds(self.serial("data", "generate", "criteo", "--out", tsv, "--samples", "300"))
        outcome, file = self.case(1, dense="dlrm", data=tsv, batch=100, train=9)
        self.succeeds(outcome)
        self.assertEqual(records(file)[1]["data_passes"], 3.0)
        self.assertIn("3.00 passes over the data", outcome.out)

    def test_workloads_train_the_layers_that_they_publish(self):
        for workload, dense in (("deeprec-dlrm", "dlrm"), ("deeprec-dlrm-adaptive", "dlrm"), ("hybridbackend-ranking", "mlp"),
                                ("hybridbackend-taobao", "mlp")):
            with self.subTest(workload=workload):
                outcome, file = self.case(2, workload, batch=24, dense=dense, scale="1/65536")
                self.assertEqual(self.succeeds(outcome).last_line(), "RESULT: VALID")
                self.assertGreater(records(file)[1]["loss"], 0)

    def test_layers_take_the_segments_of_a_sample_where_all_have_as_many(self):
        nested = {"segments": 2, "segment_rank": 1, "set": ["hotness=4"]}
        outcome, file = self.case(2, "hybridbackend-ranking", batch=24, dense="mlp", scale="1/65536", **nested)
        self.assertEqual(self.succeeds(outcome).last_line(), "RESULT: VALID")
        self.assertEqual([records(file)[1]["options"][key] for key in ("segments", "segment_rank")], [2, 1])
        nested["set"].append("ids.ragged=true")
        self.refuses_case("dense model mlp: samples have different numbers of vectors of feature", "which has segment_rank 1; "
                          "use ids.ragged=false or segment_rank 0", ranks=[1], workload="hybridbackend-ranking", dense="mlp",
                          **nested)

    def test_models_that_are_not_there_are_refused(self):
        self.refuses_case("workload fbtt describes no layers", ranks=[1], workload="fbtt", dense="dlrm")
        self.refuses_case("hybridbackend-taobao", "dlrm", "one width", ranks=[1], workload="hybridbackend-taobao", dense="dlrm")
        self.refuses_case("no layers are trained", ranks=[1], dense="exact", dense_optimizer="adam")
        self.refuses_case("unknown dense model 'dcn'", "none, exact, mlp, dlrm, dcnv2", ranks=[1], dense="dcn")


if __name__ == "__main__":
    main()
