# SPDX-License-Identifier: BSD-3-Clause
"""The paper's minimal QoS pipeline, which Fig. 10, 11, 12 and section III.E measure: classify, schedule, transmit."""

import os

from ..lab.places import CONFIGURATIONS

CONFIG = os.path.join(CONFIGURATIONS, "qos-minimal-fig8.cfg")  # only its layout is not used
FILES = [os.path.join(CONFIGURATIONS, "layouts", "qos-minimal-split.cfg")]

# classify.shed: what comes too fast is dropped without a look, as by a NIC. cache: no core keeps mbufs, so that all of them
# circulate, as they do where one core receives and another one sends. backend: the scheduler that the paper measured
SETTINGS = [("classify.shed", "0"), ("pools.default.cache", "0"), ("qos.schedulers.access.backend", "librte_sched")]
MBUFS = 131072
DATA_ROOMS = [2176, 4096, 8192, 16384, 24576]
