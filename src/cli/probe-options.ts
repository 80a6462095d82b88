import type { OptionSpec } from './option-specs.ts'

export const probe: OptionSpec = {
  name: 'probe',
  description:
    'read up to 64 MiB of the backup for up to 5 s to estimate the time of the restore; changes nothing, and works with `--dry-run` and without',
}

export const probeTarget: OptionSpec = {
  name: 'probe-target',
  description:
    'the same, and measure the target: create a topic `__kafka-backup.probe.*`, write up to 64 MiB to it for up to 5 s, and delete it',
}
