import { type CelRule, type FieldGroup, type FieldSchema, keyRef, refName, textRule } from './field-schema.ts'

const clusterRef: FieldSchema = {
  description:
    'A Kafka cluster of Strimzi in the namespace, instead of `kafkaCluster`. Its address and CA come from there. The operator must be allowed to read it: chart value `strimzi.enabled`.',
  type: 'object',
  required: ['name', 'listener'],
  properties: {
    kind: {
      description: 'The kind of the resource. Only `Kafka` of Strimzi is supported.',
      type: 'string',
      enum: ['Kafka'],
      default: 'Kafka',
    },
    name: { ...refName, description: 'The name of the Kafka resource.' },
    listener: {
      description: 'The name of a listener in `spec.kafka.listeners` of the Kafka resource.',
      type: 'string',
      minLength: 1,
      maxLength: 25,
      'x-kubernetes-validations': [textRule('^[a-z0-9]+$', 'a name of a-z 0-9')],
    },
    caCertSecret: keyRef(
      'CA certificates of the listener. Default: the key `ca.crt` of the secret `<name>-cluster-ca-cert`, which Strimzi creates. Needed for a listener with a certificate of another CA.',
    ),
  },
}

const kafkaUserRef: FieldSchema = {
  description:
    'A KafkaUser of Strimzi in the namespace, for a listener with `tls` or `scram-sha-512` authentication. The secret that Strimzi creates for it is used as it is.',
  type: 'object',
  required: ['name'],
  properties: {
    name: { ...refName, description: 'The name of the KafkaUser.' },
    userName: {
      description: 'The Kafka user name, if the KafkaUser sets `spec.userName`. Default: its name.',
      type: 'string',
      minLength: 1,
      maxLength: 253,
    },
    secretName: {
      ...refName,
      description: 'The secret of the KafkaUser, if Strimzi adds a prefix to it. Default: its name.',
    },
  },
}

const clusterRules: CelRule[] = [
  {
    rule: 'has(self.kafkaCluster) != has(self.clusterRef)',
    message: 'exactly one of kafkaCluster and clusterRef is required',
    fieldPath: '.kafkaCluster',
    reason: 'FieldValueRequired',
  },
  {
    rule: '!has(self.kafkaUserRef) || has(self.clusterRef)',
    message: 'kafkaUserRef is for clusterRef; use kafkaCluster.security for other clusters',
    fieldPath: '.kafkaUserRef',
    reason: 'FieldValueForbidden',
  },
]

/** The fields of a kind that uses a cluster: its address is in the spec, or in a resource of Strimzi. */
export function withClusterRef({ properties, required, rules }: FieldGroup): FieldGroup {
  const { kafkaCluster, ...others } = properties
  const description = 'The Kafka cluster and its connection settings.'
  return {
    properties: { kafkaCluster: { ...kafkaCluster, description }, clusterRef, kafkaUserRef, ...others },
    required: required.filter(name => name !== 'kafkaCluster'),
    rules: [...rules, ...clusterRules],
  }
}
