import type { FieldSchema } from './field-schema.ts'
import { nameRef, refName, secretKey, textRule } from './field-schema.ts'

/** A field that the section of the job file does not have. */
interface ExtraField {
  schema: FieldSchema
  /** The kinds of the section that have and require it. */
  kinds?: string[]
}

/** By the path of the section in the job file. `write-section.ts` translates them. */
export const extraFields: Readonly<Record<string, Readonly<Record<string, ExtraField>>>> = {
  storage: {
    pvc: {
      kinds: ['pvc'],
      schema: {
        type: 'object',
        description: 'The volume for the backups.',
        required: ['claimName'],
        properties: {
          claimName: { ...refName, description: 'A PersistentVolumeClaim of the namespace.' },
          subPath: {
            type: 'string',
            description: 'A folder of the volume to mount instead of its root: relative, without `..`.',
            minLength: 1,
            maxLength: 500,
            'x-kubernetes-validations': [
              textRule(
                '^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$',
                'names of A-Z a-z 0-9 . _ - joined by /, none of them beginning with a dot',
              ),
            ],
          },
        },
      },
    },
  },
  enterprise: {
    licenseSecret: {
      schema: {
        ...nameRef,
        description: 'Accepted for compatibility: no feature needs a license. A condition reports a missing secret.',
      },
    },
  },
  'enterprise.schema_registry': {
    credentialsSecret: {
      schema: {
        type: 'object',
        description: 'A secret with the user name and password for the registry, instead of `auth`.',
        required: ['name', 'usernameKey', 'passwordKey'],
        properties: {
          name: { ...refName, description: 'The name of the secret.' },
          usernameKey: { ...secretKey, description: 'The key of the user name in the secret.', default: 'username' },
          passwordKey: {
            ...secretKey,
            description: 'The key of the password in the secret.',
            default: 'password',
          },
        },
      },
    },
  },
}

/** Defaults of a resource that differ from the job file. */
export const otherDefaults: Readonly<Record<string, unknown>> = { 'retention.after_backup': true }
