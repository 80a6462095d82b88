import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parse, stringify } from 'yaml'

const deploy = resolve(import.meta.dirname, '../deploy')
const group = 'kafka-backup.dev'

interface Definition {
  apiVersion: string
  kind: string
  metadata: { name: string; labels?: object; annotations?: object }
  spec: object
}

/** The templates of the definitions in deploy/crds, by their path in the chart. */
export function crdTemplates(): Record<string, string> {
  const crds = join(deploy, 'crds')
  const names = readdirSync(crds).filter(name => name.endsWith('.yaml'))
  const templates = names.sort().map(name => [`templates/crds/${name}`, crdTemplate(read(join('crds', name)))])
  return Object.fromEntries(templates)
}

/**
 * A definition as a template: another group where the values have one, and annotations for Helm. It stays text, as
 * helm's own reading of YAML turns whole numbers into fractions.
 */
export function crdTemplate(text: string): string {
  const { apiVersion, kind, metadata, spec } = parse(text) as Definition
  const options = { lineWidth: 0 }
  const named = `metadata:\n  name: ${metadata.name}\n`
  const body = [stringify({ apiVersion, kind }, options), named, stringify({ spec }, options)].map(templated)
  const [head, name, rest] = body
  return `{{- /* Made of deploy/crds by \`make docs\`. */ -}}
{{- if .Values.crds.install }}
${head}${name}  labels:
    {{- include "kafka-backup-operator.labels" . | nindent 4 }}
  {{- if or .Values.crds.keep .Values.crds.annotations }}
  annotations:
    {{- if .Values.crds.keep }}
    helm.sh/resource-policy: keep
    {{- end }}
    {{- with .Values.crds.annotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
${rest}{{- end }}
`
}

/** Braces of the text itself are nothing for the template engine; the group is. */
function templated(text: string): string {
  return text.replaceAll('{{', '{{ "{{" }}').replaceAll(group, '{{ .Values.apiGroup }}')
}

function read(path: string): string {
  return readFileSync(join(deploy, path), 'utf8')
}
