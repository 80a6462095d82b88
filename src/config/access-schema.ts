import { flag } from './scalar-leaves.ts'

/** The fields of `backup` that say which rules of access are kept. */
export const backupAccessFields = {
  acls: flag({ description: 'Keeps the ACLs of the source cluster in every generation.' }).prefault(false),
  quotas: flag({
    description: 'Keeps the client quotas of the source cluster in every generation: of users, clients and addresses.',
  }).prefault(false),
  users: flag({
    description:
      'Keeps the names of the SCRAM users of the source cluster in every generation, with mechanism and iterations. ' +
      'Kafka never reveals passwords.',
  }).prefault(false),
}

/** The fields of `restore` that say which of them are put back. */
export const restoreAccessFields = {
  acls: flag({
    description: 'Creates the ACLs of the backup that the target lacks, when topics and groups are restored.',
  }).prefault(false),
  quotas: flag({
    description: 'Sets the client quotas of the backup that the target lacks. One that has another value stays.',
  }).prefault(false),
  users: flag({
    description: 'Tells which SCRAM users of the backup the target lacks: without a password none can be created.',
  }).prefault(false),
}
