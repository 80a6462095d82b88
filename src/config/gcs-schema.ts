import { backendField, connectionFields, prefixField, transferFields, transferNames } from './bucket-fields.ts'
import { camelKeys } from './camel-keys.ts'
import { gcsBucketName, gcsEndpointUrl, kmsKeyName, projectId, universeDomain } from './gcs-text-rules.ts'
import { fields } from './leaf.ts'
import { flag } from './scalar-leaves.ts'
import { text } from './text-leaves.ts'
import { file } from './text-rules.ts'

/** The field names of the storage's own options, with units where the file leaves them to the value. */
export const gcsSchema = fields({
  backend: backendField('gcs'),
  bucket: text(gcsBucketName, { description: 'The bucket that holds the backups. It must exist.' }),
  prefix: prefixField,
  endpoint: text(gcsEndpointUrl, {
    description: 'Where another than Google answers, or Google on a private way; STORAGE_EMULATOR_HOST may say it too.',
    hidden: true,
  }).exactOptional(),
  universe_domain: text(universeDomain, {
    description: 'The domain of a sovereign cloud of Google’s kind; without it googleapis.com.',
  }).exactOptional(),
  key_file: text(file, {
    description:
      'JSON of a service account key or of a workload identity federation. Without it the application default credentials.',
  }).exactOptional(),
  anonymous: flag({ description: 'No credentials at all, for an emulator at `endpoint`.' }).exactOptional(),
  user_project: text(projectId, {
    description: 'The project that pays for the requests, where the bucket asks for one.',
  }).exactOptional(),
  kms_key_name: text(kmsKeyName, {
    description: 'The KMS key for new objects; without it the default of the bucket.',
  }).exactOptional(),
  ...connectionFields,
  ...transferFields({ minPartMiB: 1 }),
}).transform(gcs => camelKeys(gcs, transferNames))
