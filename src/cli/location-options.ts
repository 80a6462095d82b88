import { asOf, config, generation, keyFile, type OptionSpec, path, set, usualPath } from './option-specs.ts'

/** Several locations at once: `status`, `console`. */
export const shownLocations: readonly OptionSpec[] = [
  { ...usualPath, description: `${path.description}; repeatable`, isRepeatable: true, plural: 'paths' },
  {
    ...config,
    description: 'a job file (YAML) whose location is shown, instead of `--path`; repeatable',
    isRepeatable: true,
    plural: 'configs',
  },
  set,
  keyFile,
]

/** A state of a backup, in the store of the other options: `cat`, `drill`. */
export const chosenState: readonly OptionSpec[] = [set, keyFile, generation, asOf]

const LOCATION = 'a folder, or a `file:///`, `s3://`, `az://` or `gs://` URL'

/** An option with a location that is not that of `--path`: `copy`, `drill`. */
export function locationOption(name: string, describe: (location: string) => string): OptionSpec {
  return { name, value: { kind: 'folder', label: 'location' }, description: describe(LOCATION) }
}
