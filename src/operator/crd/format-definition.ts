import { stringify } from 'yaml'
import type { CustomResourceDefinition } from './definition.ts'

/** The text of deploy/crds/<plural>.yaml. */
export function formatDefinition(definition: CustomResourceDefinition): string {
  const text = stringify(definition, { lineWidth: 0, blockQuote: 'literal', aliasDuplicateObjects: false })
  return `# Made by \`make docs\` of src/operator/crd; changes are made there.\n${text}`
}
