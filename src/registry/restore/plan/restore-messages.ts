/** The messages that users of restores know; each says what to do. */
export function registrationFailed(subject: string, reason: string): string {
  return (
    `Schema registration failed for subject ${subject}: ${reason.replace(/\.$/, '')}. Where an earlier schema is incompatible, set ` +
    'restore.set_compatibility to NONE, or restore.force_register to true (dangerous)'
  )
}

export function idNotFound(id: string, reason: string, advice: string): string {
  return `Schema ID ${id} not found in target registry: ${reason}. ${advice}`
}

export function referenceNotFound(subject: string, reason: string, advice: string): string {
  return `Reference to subject ${subject} not found: ${reason}. ${advice}`
}
