import { camelKeys } from './camel-keys.ts'
import { clusterFields, clusterNames } from './cluster-schema.ts'
import { fields } from './leaf.ts'

export const targetSchema = fields(clusterFields)
  .transform(target => camelKeys(target, clusterNames))
  .meta({ description: 'The cluster that is restored to.' })
