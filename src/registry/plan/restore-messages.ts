/** The messages that users of restores know; each says what to do. */
export function registrationFailed(subject: string, reason: string): string {
  return (
    `Schema registration failed for subject ${subject}: ${reason.replace(/\.$/, '')}. Where an earlier schema is incompatible, set ` +
    'restore.set_compatibility to NONE, or restore.force_register to true (dangerous)'
  )
}

export function idNotFound(id: string, reason: string): string {
  return (
    `Schema ID ${id} not found in target registry: ${reason}. Restore the schemas first: with restore.enabled true that ` +
    'is done before any data'
  )
}

export function referenceNotFound(subject: string, reason: string): string {
  return (
    `Reference to subject ${subject} not found: ${reason}. Include the subject in backup.subjects and set ` +
    'backup.include_references to true'
  )
}
