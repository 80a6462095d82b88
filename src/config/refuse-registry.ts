import { KafkaBackupError } from '../errors.ts'
import type { Job } from './job-schema.ts'

/** For what copies topics only: a registry that the job asks for is refused, not ignored. */
export function refuseRegistry({ enterprise }: Pick<Job, 'enterprise'>): void {
  if (!enterprise?.schemaRegistry?.enabled) return
  const wrong = 'schema registries are not available in this version; set it to false'
  throw new KafkaBackupError('CONFIG_INVALID', `enterprise.schema_registry.enabled: ${wrong}`)
}
