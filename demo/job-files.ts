export function backupFile(address: string, registry: string): string {
  return `mode: backup
backup_id: shop
source:
  bootstrap_servers: [${address}]
  topics:
    include: ["*"]
storage:
  backend: filesystem
  path: backups
${registryPart(registry)}`
}

export function restoreFile(address: string, registry: string): string {
  return `mode: restore
backup_id: shop
target:
  bootstrap_servers: [${address}]
storage:
  backend: filesystem
  path: backups
${registryPart(registry)}`
}

function registryPart(url: string): string {
  return `enterprise:
  schema_registry:
    enabled: true
    url: ${url}
`
}
