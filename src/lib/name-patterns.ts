/**
 * Names that job files, command lines and addresses have in common, as the text of regular expressions: a JSON Schema
 * needs the text.
 */
export const BACKUP_ID_PATTERN = '^[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$'
/** Two dots in a row are not allowed either. */
export const S3_BUCKET_PATTERN = '^[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]$'
/** Two dots in a row are not allowed either. */
export const GCS_BUCKET_PATTERN = '^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$'
/** At most 63 characters. `$root` and `$web` are excluded: they cannot hold keys with slashes, or are public. */
export const AZURE_CONTAINER_PATTERN = '^[a-z0-9](-?[a-z0-9]){2,}$'
