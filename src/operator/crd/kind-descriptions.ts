import type { Controller } from '../resource/resource.ts'

export const kindDescriptions: Record<Controller, string> = {
  backup: 'Backs up topics of a Kafka cluster to a storage: once, on a schedule, or all the time.',
  restore: 'Restores a backup into a Kafka cluster, once. Run again, it continues where it stopped.',
  offset_reset: 'Sets consumer groups to other positions, once. It takes a snapshot of where they stood before.',
  offset_rollback: 'Leads consumer groups back to a snapshot of their positions, takes one, or compares with one.',
}
