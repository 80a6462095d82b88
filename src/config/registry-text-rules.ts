import type { TextRule } from './text-rules.ts'

export const registryContext: TextRule = {
  type: 'text',
  allowed: 'the name of a context, which begins with a dot, such as .prod; . alone is the default one',
  pattern: '^\\.[^:]*$',
  wrong: text => {
    if (/^:\..*:$/.test(text)) return 'has colons around it: write the name alone'
    if (!text.startsWith('.')) return 'does not begin with a dot'
    return text.includes(':') ? 'has a colon in it' : undefined
  },
}
