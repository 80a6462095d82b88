/**
 * The pattern of all backups that a resource of mode `full` makes. It has the form of the time, since `orders-*` would be
 * about the backup `orders-eu` of another resource as well.
 */
export function anyFullBackup(baseId: string): string {
  return `${baseId}-????????t??????z`
}
