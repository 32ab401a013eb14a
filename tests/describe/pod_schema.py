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
COUNT = {"type": "integer", "minimum": 1}
PATH = {"type": "string", "pattern": "^/"}
RESOURCES = {
    "type": "object", "required": ["cpu", "memory"], "additionalProperties": False,
    "properties": {"cpu": {"type": "string", "pattern": "^[1-9][0-9]*$"},
                   "memory": {"type": "string", "pattern": "^[1-9][0-9]*Mi$"}},
    "patternProperties": {
        "^hugepages-(2Mi|1Gi)$": {"type": "string", "pattern": "^[1-9][0-9]*Mi$"},
        "^[a-z0-9.-]+/[A-Za-z0-9_.-]+$": {"type": "string", "pattern": "^[1-9][0-9]*$"}},
}
PROBE = group(["exec", "periodSeconds", "failureThreshold"], exec=group(["command"], command=array(TEXT)), periodSeconds=COUNT,
              timeoutSeconds=COUNT, failureThreshold=COUNT)
CONTAINER = group(
    ["name", "image", "resources", "startupProbe", "livenessProbe"], name=LABEL, image=TEXT, command=array(TEXT), startupProbe=PROBE,
    livenessProbe=PROBE,
    securityContext=group(["capabilities"], capabilities=group(["add"], add=array(TEXT))),
    resources=group(["requests", "limits"], requests=RESOURCES, limits=RESOURCES),
    volumeMounts=array(group(["name", "mountPath"], name=LABEL, mountPath=PATH)))
VOLUME = group(
    ["name"], name=LABEL, configMap=group(["name"], name=LABEL),
    emptyDir=group(["medium"], medium={"enum": ["HugePages-2Mi", "HugePages-1Gi"]}),
    hostPath=group(["path", "type"], path=PATH, type={"const": "DirectoryOrCreate"}))
POD = group(
    ["apiVersion", "kind", "metadata", "spec"], apiVersion={"const": "v1"}, kind={"const": "Pod"},
    metadata=group(["name"], name=LABEL,
                   annotations={"type": "object", "additionalProperties": TEXT}),
    spec=group(["containers"], restartPolicy={"enum": ["Always", "OnFailure", "Never"]},
               containers=array(CONTAINER), volumes=array(VOLUME)))
CONFIG_MAP = group(
    ["apiVersion", "kind", "metadata", "data"], apiVersion={"const": "v1"}, kind={"const": "ConfigMap"}, metadata=group(["name"], name=LABEL),
    data={"type": "object", "propertyNames": {"pattern": "^[-._a-zA-Z0-9]+$"}, "additionalProperties": TEXT, "required": ["vbng.cfg"]})
NETWORK = group(
    ["apiVersion", "kind", "metadata", "spec"], apiVersion={"const": "k8s.cni.cncf.io/v1"}, kind={"const": "NetworkAttachmentDefinition"},
    metadata=group(["name", "annotations"], name=LABEL, annotations=group(
        ["k8s.v1.cni.cncf.io/resourceName"], **{"k8s.v1.cni.cncf.io/resourceName": TEXT})),
    spec=group(["config"], config=TEXT))
KINDS = {"Pod": POD, "ConfigMap": CONFIG_MAP, "NetworkAttachmentDefinition": NETWORK}
