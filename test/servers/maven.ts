import { mustDownload } from './download.ts'

/** A connection that says nothing for a minute is given up and opened again. */
const patience = ['maven.wagon.http.retryHandler.count=5', 'aether.connector.http.retryHandler.count=5'].concat(
  'aether.connector.requestTimeout=60000',
)

export async function runMaven(dir: string, args: readonly string[]): Promise<void> {
  await mustDownload('mvn', ['-q', '-B', ...patience.map(each => `-D${each}`), ...args], { cwd: dir })
}
