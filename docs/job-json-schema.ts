import { isDeepStrictEqual } from 'node:util'
import { clusterlessJobSchemas, describeJobSchema, type JsonSchema } from '../src/config/job-schema.ts'
import { reference } from '../src/config/leaf.ts'
import { modes } from '../src/config/mode.ts'

type JobJsonSchema = JsonSchema & { properties: Record<string, JsonSchema> }

/**
 * JSON Schema of a job file as it is written, for editors. It knows single fields, not the rules between them. The cluster is
 * optional, because commands that do not contact Kafka need none.
 */
export function jobJsonSchema(): JsonSchema {
  const { sections, jobs } = shareSections(
    modes.map(mode => clean(describeJobSchema(clusterlessJobSchemas[mode])) as JobJsonSchema),
  )
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: 'urn:kafka-backup:job',
    title: 'kafka-backup job file',
    description: 'What is backed up or restored, from where and to where.',
    type: 'object',
    anyOf: jobs,
    $defs: {
      reference: {
        description: 'A text that takes its value, or a part of it, from an environment variable.',
        type: 'string',
        pattern: '\\$\\{',
      },
      ...sections,
    },
  }
}

/**
 * Takes out what only the documentation needs and the defaults of whole maps. A kind given by a variable can be any of
 * the kinds, so a constant takes a reference too and the kinds are alternatives that may overlap.
 */
function clean(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(clean)
  if (!isSchema(node)) return node
  const cleaned: JsonSchema = {}
  for (const [key, value] of Object.entries(node)) {
    if (key.startsWith('x-') || (key === 'default' && isSchema(value))) continue
    cleaned[key === 'oneOf' ? 'anyOf' : key] = clean(value)
  }
  if (cleaned.const === undefined) return cleaned
  const { const: constant, ...rest } = cleaned
  return { ...rest, anyOf: [{ const: constant }, reference] }
}

/** Sections that are the same in all modes, taken out of the jobs, which then refer to them. */
function shareSections(jobs: readonly JobJsonSchema[]) {
  const sections = Object.fromEntries(
    Object.entries(jobs[0]?.properties ?? {}).filter(([name, section]) =>
      jobs.every(({ properties }) => isDeepStrictEqual(properties[name], section)),
    ),
  )
  const refer = (name: string, section: JsonSchema) =>
    Object.hasOwn(sections, name) ? { $ref: `#/$defs/${name}` } : section
  const referring = jobs.map(job => ({
    ...job,
    properties: Object.fromEntries(Object.entries(job.properties).map(([name, each]) => [name, refer(name, each)])),
  }))
  return { sections, jobs: referring }
}

function isSchema(node: unknown): node is JsonSchema {
  return typeof node === 'object' && node !== null && !Array.isArray(node)
}
