# SPDX-License-Identifier: BSD-3-Clause
"""What of the Pod of Kubernetes' API v1 a description uses, as a JSON schema: no other keys, the
notations of quantities and names, what must be there."""


def group(required, **properties):
    return {"type": "object", "additionalProperties": False, "required": required,
            "properties": properties}


def array(items):
    return {"type": "array", "minItems": 1, "items": items}


LABEL = {"type": "string", "maxLength": 63, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}
TEXT = {"type": "string", "minLength": 1}
PATH = {"type": "string", "pattern": "^/"}
RESOURCES = {
    "type": "object", "required": ["cpu", "memory"], "additionalProperties": False,
    "properties": {"cpu": {"type": "string", "pattern": "^[1-9][0-9]*$"},
                   "memory": {"type": "string", "pattern": "^[1-9][0-9]*Mi$"}},
    "patternProperties": {
        "^hugepages-(2Mi|1Gi)$": {"type": "string", "pattern": "^[1-9][0-9]*Mi$"},
        "^[a-z0-9.-]+/[A-Za-z0-9_.-]+$": {"type": "string", "pattern": "^[1-9][0-9]*$"}},
}
CONTAINER = group(
    ["name", "image", "resources"], name=LABEL, image=TEXT, command=array(TEXT),
    securityContext=group(["capabilities"], capabilities=group(["add"], add=array(TEXT))),
    resources=group(["requests", "limits"], requests=RESOURCES, limits=RESOURCES),
    volumeMounts=array(group(["name", "mountPath"], name=LABEL, mountPath=PATH)))
VOLUME = group(
    ["name"], name=LABEL, configMap=group(["name"], name=LABEL),
    emptyDir=group(["medium"], medium={"enum": ["HugePages-2Mi", "HugePages-1Gi"]}))
POD = group(
    ["apiVersion", "kind", "metadata", "spec"], apiVersion={"const": "v1"}, kind={"const": "Pod"},
    metadata=group(["name"], name=LABEL,
                   annotations={"type": "object", "additionalProperties": TEXT}),
    spec=group(["containers"], restartPolicy={"enum": ["Always", "OnFailure", "Never"]},
               containers=array(CONTAINER), volumes=array(VOLUME)))
