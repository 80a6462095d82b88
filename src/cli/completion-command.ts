import type { CommandSpec } from './command-spec.ts'

export const completionCommand: CommandSpec = {
  name: 'completion',
  summary: 'print a completion script for a shell',
  description:
    'Print a script that completes commands, options, backup IDs, topics and other values in a shell. The script runs `completion names` with the words of the command line: it prints the backup IDs or topics that the last word can be, one in each line, from the location of these words or of `KAFKA_BACKUP_LOCATION`. It prints nothing if the location cannot be read.',
  argument: { name: 'shell', choices: ['bash', 'zsh', 'fish', 'names'], description: 'the shell, or `names`' },
  operands: [{ label: 'word', option: 'word', description: 'the command line to complete', isRepeatable: true }],
  options: [],
  examples: [
    { command: 'source <(kafka-backup completion bash)', meaning: 'add to ~/.bashrc' },
    { command: 'kafka-backup completion zsh > "$fpath[1]/_kafka-backup"', meaning: 'run once' },
    {
      command: 'kafka-backup completion fish > ~/.config/fish/completions/kafka-backup.fish',
      meaning: 'run once',
    },
  ],
}
