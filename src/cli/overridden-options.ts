import type { Log } from '../observe/log.ts'

/** What the kubelet leaves where no variable has the name. */
const NOT_SET = '$(NODE_OPTIONS)'

/**
 * The operator and the chart set NODE_OPTIONS to a heap limit, which overrides the variable of an `envFrom`. The value is not
 * shown, because it may be from a secret.
 */
export function warnOverriddenOptions(env: Readonly<Record<string, string | undefined>>, log: Log): void {
  const overridden = env.KAFKA_BACKUP_OVERRIDDEN_NODE_OPTIONS?.trim() ?? ''
  if (overridden === '' || overridden === NOT_SET) return
  log.write(
    'warn',
    'NODE_OPTIONS from envFrom has no effect, because the heap limit of the container overrides it: set NODE_OPTIONS in env instead (spec.podTemplate.spec.env of a resource, extraEnv or console.env of the chart)',
  )
}
