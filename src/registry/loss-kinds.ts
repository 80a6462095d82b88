/**
 * What a schema registry may not keep of what a restore gives it: a closed list. Every lossy note of a plan names one of
 * them, and `enterprise.schema_registry.restore.accept_loss` of a job lists those that it accepts.
 */
export const lossKinds = {
  version_left_out: 'a version of the backup is not restored; the target keeps its own versions of the subject',
  circular_reference: 'a version that refers to itself through others is not restored',
  reference_outside: 'a schema refers to a version that is not restored, and gets the version that the target has',
  id_unmapped:
    'a schema ID of the backup has no schema on the target; unknown_ids decides what happens to records with it',
  target_version_deleted: 'a version that only the target has is deleted there for good',
  version_number: 'a version has another number on the target',
  version_merged: 'two versions of a subject are one on the target',
  documentation: 'an Avro schema has the doc and aliases of another version that is otherwise the same',
  deleted_version_live: 'a version that is deleted in the backup is live on the target',
  live_version_deleted: 'a version that is live in the backup is deleted on the target',
  metadata: 'the metadata of schemas is dropped',
  metadata_inherited: 'a version without metadata gets that of the version before it',
  rule_set: 'the rule sets of schemas are dropped',
  context: 'a context becomes part of a plain subject name',
  context_settings: 'the level, mode and configuration of a context are dropped',
  compatibility: 'the compatibility level of a subject, or of the registry, is not kept',
  mode: 'the mode of a subject, or of the registry, is not kept',
  config: 'configuration other than the compatibility level is dropped',
} as const

export type LossKind = keyof typeof lossKinds

export const lossKindNames = Object.keys(lossKinds) as LossKind[]
