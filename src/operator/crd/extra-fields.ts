import type { FieldSchema } from './field-schema.ts'
import { nameRef, refName, secretKey, textRule } from './field-schema.ts'

/** A field of a section that the job file has not. */
export interface ExtraField {
  schema: FieldSchema
  /** The kinds of the section that have it, and need it. */
  kinds?: string[]
}

/** By the path of the section in the job file. `write-extras.ts` says what becomes of them there. */
export const extraFields: Readonly<Record<string, Readonly<Record<string, ExtraField>>>> = {
  storage: {
    pvc: {
      kinds: ['pvc'],
      schema: {
        type: 'object',
        description: 'The volume that holds the backups.',
        required: ['claimName'],
        properties: {
          claimName: { ...refName, description: 'A PersistentVolumeClaim of the namespace.' },
          subPath: {
            type: 'string',
            description: 'A folder of the volume, relative and without `..`, that is mounted in the place of its root.',
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
        description: 'Accepted for compatibility: nothing is locked. A missing secret is reported in a condition.',
      },
    },
  },
  'enterprise.schema_registry': {
    credentialsSecret: {
      schema: {
        type: 'object',
        description: 'A secret with the user and the password of the registry, in the place of `auth`.',
        required: ['name', 'usernameKey', 'passwordKey'],
        properties: {
          name: { ...refName, description: 'The secret.' },
          usernameKey: { ...secretKey, description: 'The key of the secret that holds the user.', default: 'username' },
          passwordKey: {
            ...secretKey,
            description: 'The key of the secret that holds the password.',
            default: 'password',
          },
        },
      },
    },
  },
}

/** Where a resource has another default than a job file. */
export const otherDefaults: Readonly<Record<string, unknown>> = { 'retention.after_backup': true }
