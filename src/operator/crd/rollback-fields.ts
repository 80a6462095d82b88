import type { FieldGroup } from './field-schema.ts'
import { nameField, nameList, snapshotField } from './offset-leaves.ts'

/** Which snapshot of positions is taken, compared or gone back to. */
export const rollbackFields: FieldGroup = {
  properties: {
    operation: {
      description:
        '`rollback` leads the groups back to a snapshot, `snapshot` takes one, `verify` compares where they stand with one.',
      type: 'string',
      enum: ['rollback', 'snapshot', 'verify'],
      default: 'rollback',
    },
    snapshotId: snapshotField('The snapshot. `status.snapshotId` of a reset names the one that it took.'),
    resetRef: {
      description: 'A KafkaOffsetReset of this namespace, whose snapshot is meant.',
      type: 'object',
      required: ['name'],
      properties: { name: nameField('Its name.') },
    },
    groups: nameList('Consumer groups, by their names or patterns with `*` and `?`. All without it.', 1),
  },
  required: [],
  rules: [
    {
      rule: "self.operation == 'snapshot' || has(self.snapshotId) || has(self.resetRef)",
      message:
        'rollback and verify need a snapshot: give snapshotId, or resetRef with the KafkaOffsetReset that took it',
      fieldPath: '.snapshotId',
      reason: 'FieldValueRequired',
    },
    {
      rule: '!(has(self.snapshotId) && has(self.resetRef))',
      message: 'snapshotId says it already: remove one of the two',
      fieldPath: '.resetRef',
      reason: 'FieldValueForbidden',
    },
    {
      rule: "self.operation != 'snapshot' || !(has(self.snapshotId) || has(self.resetRef))",
      message:
        'operation snapshot takes a new snapshot: remove snapshotId and resetRef, or set operation to rollback or verify',
      fieldPath: '.operation',
    },
    {
      rule: "!self.dryRun || self.operation == 'rollback'",
      message:
        'only a rollback changes something that could be planned first: remove dryRun, or set operation to rollback',
      fieldPath: '.dryRun',
    },
  ],
}
