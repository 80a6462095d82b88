import { checkAzureRules } from './azure-schema.ts'
import { checkEncryptionRules } from './encryption-schema.ts'
import { checkGcsRules } from './gcs-schema.ts'
import type { Mode } from './mode.ts'
import { checkModeRules, checkNewId } from './mode.ts'
import type { Problem } from './problem.ts'
import { checkRegistryRules } from './registry-rules.ts'
import { checkRestoreRules } from './restore-rules.ts'
import { checkS3Rules } from './s3-schema.ts'
import { checkSecurityRules } from './security-schema.ts'

/** All rules between the fields of a job that is checked as one of that mode. */
export function checkJobRules(tree: unknown, mode: Mode): Problem[] {
  return [
    ...checkModeRules(tree, mode),
    ...checkSecurityRules(tree, [mode === 'backup' ? 'source' : 'target', 'security']),
    ...(mode === 'restore' ? checkRestoreRules(tree) : checkNewId(tree)),
    ...checkRegistryRules(tree),
    ...checkS3Rules(tree),
    ...checkAzureRules(tree),
    ...checkGcsRules(tree),
    ...checkEncryptionRules(tree),
  ]
}
