# SPDX-License-Identifier: BSD-3-Clause
"""The paper's minimal QoS pipeline, which Fig. 10, 11, 12 and section III.E measure: classify, schedule, transmit."""

import os

from .. import lab

CONFIG = os.path.join(lab.CONFIG, "qos-minimal-fig8.cfg")  # its layout is replaced
FILES = [os.path.join(lab.CONFIG, "layouts", "qos-minimal-split.cfg")]

# classify: what comes too fast is dropped unseen, as a NIC would; mbufs: none is kept by a core, so that all of them
# go round, as they do where one core receives and another one sends; engine: the scheduler that the paper measured
SETTINGS = [("classify.shed", "0"), ("pools.default.cache", "0"), ("qos.schedulers.access.engine", "librte_sched")]
MBUFS = 131072
DATA_ROOMS = [2176, 4096, 8192, 16384, 24576]
