import { buildDefinitions } from './build-definitions.ts'
import { formatDefinition } from './format-definition.ts'

export interface PrintedDefinitions {
  /** Documents one after the other, for `kubectl apply -f -`. */
  yaml: string
  /** The same as one object, which kubectl takes as well. */
  list: object
}

export function printDefinitions(apiGroup: string): PrintedDefinitions {
  const items = buildDefinitions(apiGroup)
  return {
    yaml: items
      .map(definition => `---\n${formatDefinition(definition)}`)
      .join('')
      .trimEnd(),
    list: { apiVersion: 'v1', kind: 'List', items },
  }
}
