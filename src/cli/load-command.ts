import type { RunCommand } from './session.ts'

/** Loads the code of a command on demand. Separate from the command table, which some commands import. */
const loaders: Record<string, () => Promise<{ run: RunCommand }>> = {
  check: () => import('./commands/check.ts'),
  backup: () => import('./commands/backup.ts'),
  restore: () => import('./commands/restore.ts'),
  list: () => import('./commands/list.ts'),
  describe: () => import('./commands/describe.ts'),
  verify: () => import('./commands/verify.ts'),
  prune: () => import('./commands/prune.ts'),
  delete: () => import('./commands/delete.ts'),
  copy: () => import('./commands/copy.ts'),
  compare: () => import('./commands/compare.ts'),
  'offset-map': () => import('./commands/offset-map.ts'),
  topics: () => import('./commands/topics.ts'),
  schemas: () => import('./commands/schemas.ts'),
  offsets: () => import('./commands/offsets.ts'),
  key: () => import('./commands/key.ts'),
  operator: () => import('./commands/operator.ts'),
  crds: () => import('./commands/crds.ts'),
  registry: () => import('./commands/registry.ts'),
  completion: () => import('./commands/completion.ts'),
}

export async function loadCommand(name: string): Promise<RunCommand> {
  const load = loaders[name]
  if (!load) throw new Error(`the command ${name} is in the table but has no code`)
  return (await load()).run
}
