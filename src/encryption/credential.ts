import type { KmsKey } from './aws-kms.ts'
import { fingerprintOf } from './key-wrap.ts'

/** Something that wraps and unwraps data keys, with its secret. Never shown; `from` says where it comes from. */
export type Credential =
  | { kind: 'key'; key: Buffer; from: string; name?: string | undefined }
  | { kind: 'passphrase'; passphrase: string; from: string; name?: string | undefined }
  | ({ kind: 'aws_kms'; from: string; name?: string | undefined } & KmsKey)

/** Which credential it is, for messages. */
export function describeCredential(credential: Credential): string {
  switch (credential.kind) {
    case 'key':
      return `the key ${fingerprintOf(credential.key)} of ${credential.from}`
    case 'passphrase':
      return `the passphrase of ${credential.from}`
    case 'aws_kms':
      return `the AWS KMS key ${credential.keyId}`
    default:
      return credential satisfies never
  }
}
