import type { CommandSpec } from './command-spec.ts'
import { apiGroup } from './operator-table.ts'

/** Also the program `kubectl-kafka_backup`, which kubectl runs as `kubectl kafka-backup`. */
export const kubectlCommand: CommandSpec = {
  name: 'kubectl',
  summary: 'show, follow and start backups in Kubernetes',
  description:
    'Work with the resources of the operator from your machine, with your kubeconfig. `status` lists them with what is wrong; `describe` shows all that matters about one: its problems, runs, pods and events; `logs` prints the log of its newest pod; `trigger` starts a run now. The package installs it as a plugin of kubectl too: `kubectl kafka-backup status`.',
  argument: {
    name: 'action',
    choices: ['status', 'describe', 'logs', 'trigger'],
    description: 'what to do',
    fallback: 'status',
  },
  operands: [
    {
      label: 'name',
      option: 'resource',
      description: 'NAME or TYPE/NAME, with the type backup, restore, offsetreset, offsetrollback or storage',
      isRepeatable: true,
    },
  ],
  options: [
    {
      name: 'resource',
      value: { kind: 'text', label: 'type/name' },
      description: 'the resource, such as `backup/nightly`; repeatable for `status`',
      isRepeatable: true,
    },
    {
      name: 'namespace',
      short: 'n',
      value: { kind: 'text', label: 'name' },
      description: 'namespace of the resource; default: that of the context',
    },
    { name: 'all-namespaces', short: 'A', description: 'for `status`: the resources of all namespaces' },
    {
      name: 'context',
      value: { kind: 'text', label: 'name' },
      description: 'context of the kubeconfig; default: its current context',
    },
    {
      name: 'kubeconfig',
      value: { kind: 'file', label: 'file' },
      description: 'kubeconfig file; default: KUBECONFIG, or `~/.kube/config`',
    },
    apiGroup,
    {
      name: 'follow',
      description:
        'for `logs`: wait for the run, and print the logs of its pods one after the other until it has ended',
    },
    { name: 'tail', value: { kind: 'text', label: 'lines' }, description: 'for `logs`: print only the last lines' },
    {
      name: 'run',
      value: { kind: 'text', label: 'run' },
      description: 'for `logs`: a run of `describe`; default: the newest',
    },
    { name: 'wait', description: 'for `trigger`: wait until the run has ended, and fail if it failed' },
  ],
  examples: [
    { command: 'kubectl kafka-backup status -A', meaning: 'list all resources of the cluster, with what is wrong' },
    { command: 'kubectl kafka-backup describe backup/nightly -n shop', meaning: 'find out why a backup failed' },
    { command: 'kubectl kafka-backup logs backup/nightly --follow', meaning: 'follow the log of the newest run' },
    { command: 'kubectl kafka-backup trigger backup/nightly --wait', meaning: 'run a backup now, before an upgrade' },
  ],
  exits: '1 also if a resource does not exist, or if the run of `trigger --wait` failed',
  onInterrupt: 'The resource and its run are not affected.',
  readOnlyActions: ['status', 'describe', 'logs'],
  stopsAtOnce: true,
}
