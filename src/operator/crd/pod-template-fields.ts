import { type FieldSchema, nameRef, refName, textRule } from './field-schema.ts'

/** Kubernetes validates it when the Job is created. */
const asKubernetesHasIt: FieldSchema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
const number: FieldSchema = { type: 'integer', format: 'int64', minimum: 0 }
const text: FieldSchema = { type: 'string', maxLength: 253 }

const optional: FieldSchema = { type: 'boolean' }
const keyOf: FieldSchema = {
  type: 'object',
  required: ['name', 'key'],
  properties: { name: text, key: text, optional },
}
const allOf: FieldSchema = { type: 'object', required: ['name'], properties: { name: text, optional } }

/** Profiles that the Pod Security level `restricted` allows. */
export const seccompTypes = ['RuntimeDefault', 'Localhost']

/** Variables that the operator or the Job controller sets. */
export const reservedVariables = ['KAFKA_BACKUP_RESULT_FILE', 'POD_IP', 'JOB_COMPLETION_INDEX']

/** Variables of the container. */
const envFields: Record<string, FieldSchema> = {
  env: {
    description: 'Additional environment variables, such as `HTTPS_PROXY` and `NODE_OPTIONS`.',
    type: 'array',
    maxItems: 50,
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['name'],
    items: {
      type: 'object',
      required: ['name'],
      properties: {
        name: {
          type: 'string',
          minLength: 1,
          maxLength: 253,
          'x-kubernetes-validations': [
            {
              rule: `!(self in [${reservedVariables.map(name => `'${name}'`).join(', ')}])`,
              message: `the operator sets ${reservedVariables.join(', ')}; they cannot be set here`,
            },
          ],
        },
        value: { type: 'string', maxLength: 32_768 },
        valueFrom: {
          type: 'object',
          properties: {
            secretKeyRef: keyOf,
            configMapKeyRef: keyOf,
            fieldRef: {
              type: 'object',
              required: ['fieldPath'],
              properties: { fieldPath: text, apiVersion: text },
            },
          },
        },
      },
    },
  },
  envFrom: {
    description: 'Secrets and ConfigMaps whose entries become environment variables.',
    type: 'array',
    maxItems: 50,
    'x-kubernetes-list-type': 'atomic',
    items: { type: 'object', properties: { prefix: text, secretRef: allOf, configMapRef: allOf } },
  },
}

/** Fields of a pod, and those of its only container (`env`, `volumeMounts`). */
const podSpecFields: Record<string, FieldSchema> = {
  serviceAccountName: name(
    'The service account of the pods, for workload identity. Default: the one in the operator settings.',
  ),
  nodeSelector: {
    description: 'Labels that a node must have.',
    type: 'object',
    maxProperties: 50,
    additionalProperties: { type: 'string', maxLength: 63 },
  },
  tolerations: list('Taints of nodes that the pods tolerate.', {
    type: 'object',
    properties: {
      key: text,
      operator: { type: 'string', enum: ['Exists', 'Equal'] },
      value: text,
      effect: { type: 'string', enum: ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] },
      tolerationSeconds: { type: 'integer', format: 'int64' },
    },
  }),
  affinity: { description: 'Affinity to nodes and pods.', ...asKubernetesHasIt },
  topologySpreadConstraints: list('How the pods spread over zones and nodes.', asKubernetesHasIt),
  priorityClassName: name('The priority class of the pods.'),
  runtimeClassName: name('The runtime class of the pods.'),
  schedulerName: name('The scheduler that places the pods.'),
  imagePullSecrets: list('Secrets for the registry of the image.', nameRef, ['name']),
  securityContext: {
    description: 'Overrides the default security context, which satisfies the level `restricted`.',
    type: 'object',
    properties: {
      runAsUser: { ...number, minimum: 1 },
      runAsGroup: number,
      runAsNonRoot: {
        type: 'boolean',
        'x-kubernetes-validations': [{ rule: 'self', message: 'pods never run as root: remove it, or set it to true' }],
      },
      fsGroup: number,
      fsGroupChangePolicy: { type: 'string', enum: ['OnRootMismatch', 'Always'] },
      supplementalGroups: { type: 'array', maxItems: 50, items: number, 'x-kubernetes-list-type': 'atomic' },
      supplementalGroupsPolicy: { type: 'string', enum: ['Merge', 'Strict'] },
      seLinuxOptions: { type: 'object', properties: { level: text, role: text, type: text, user: text } },
      seccompProfile: {
        type: 'object',
        required: ['type'],
        properties: {
          type: { type: 'string', enum: seccompTypes },
          localhostProfile: text,
        },
      },
    },
  },
  hostAliases: list('Entries of the hosts file.', {
    type: 'object',
    required: ['ip'],
    properties: {
      ip: text,
      hostnames: { type: 'array', maxItems: 50, items: text, 'x-kubernetes-list-type': 'atomic' },
    },
  }),
  dnsPolicy: {
    description: 'The DNS policy of the pods.',
    type: 'string',
    enum: ['ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None'],
  },
  dnsConfig: {
    description: 'DNS settings in addition to the policy.',
    type: 'object',
    properties: {
      nameservers: { type: 'array', maxItems: 10, items: text, 'x-kubernetes-list-type': 'atomic' },
      searches: { type: 'array', maxItems: 32, items: text, 'x-kubernetes-list-type': 'atomic' },
      options: list(undefined, { type: 'object', properties: { name: text, value: text } }),
    },
  },
  ...envFields,
  volumes: list(
    'Additional volumes of the pods.',
    { type: 'object', required: ['name'], properties: { name: text }, 'x-kubernetes-preserve-unknown-fields': true },
    ['name'],
  ),
  volumeMounts: list(
    'Where these volumes are mounted in the container.',
    {
      type: 'object',
      required: ['name', 'mountPath'],
      properties: {
        name: text,
        mountPath: {
          type: 'string',
          maxLength: 1024,
          'x-kubernetes-validations': [textRule('^/', 'an absolute path')],
        },
        subPath: { type: 'string', maxLength: 4096 },
        readOnly: { type: 'boolean' },
      },
    },
    ['mountPath'],
  ),
}

function name(description: string): FieldSchema {
  return { ...refName, description }
}

function list(description: string | undefined, items: FieldSchema, keys?: readonly string[]): FieldSchema {
  const kind: FieldSchema = keys
    ? { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': keys }
    : { 'x-kubernetes-list-type': 'atomic' }
  return { ...(description === undefined ? {} : { description }), type: 'array', maxItems: 50, items, ...kind }
}

export const podTemplateField: FieldSchema = {
  description: 'Pod fields that the operator adds to its own.',
  type: 'object',
  properties: {
    metadata: {
      description: 'Labels and annotations of the pods, for example for a service mesh or monitoring.',
      type: 'object',
      properties: { labels: notes('Labels of the pods.', 100), annotations: notes('Annotations of the pods.', 4096) },
    },
    spec: { description: 'Fields of the pod spec, as in Kubernetes.', type: 'object', properties: podSpecFields },
  },
}

function notes(description: string, maxLength: number): FieldSchema {
  return { description, type: 'object', maxProperties: 50, additionalProperties: { type: 'string', maxLength } }
}
