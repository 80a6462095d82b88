import { existsSync } from 'node:fs'
import { requirePermission } from './building.ts'
import { mustDownload } from './download.ts'
import { runCommand } from './run-command.ts'

/** The path of a program of this machine. `make servers` installs its Debian package where it is missing. */
export function systemProgram(name: string, debianPackage: string): Promise<string> {
  return findOrInstall(name, debianPackage, () => findProgram(name))
}

/** The same of a file that no search path leads to. */
export function systemFile(path: string, debianPackage: string): Promise<string> {
  return findOrInstall(path, debianPackage, async () => (existsSync(path) ? path : undefined))
}

async function findOrInstall(
  name: string,
  debianPackage: string,
  find: () => Promise<string | undefined>,
): Promise<string> {
  const found = await find()
  if (found !== undefined) return found
  requirePermission(`the program ${name} (Debian package ${debianPackage}) is missing`)
  await install(debianPackage).catch((error: Error) => {
    throw new Error(`install the program ${name}, for example as root with apt-get: ${error.message}`, { cause: error })
  })
  const installed = await find()
  if (installed === undefined) throw new Error(`the Debian package ${debianPackage} has no program ${name}`)
  return installed
}

/** Some programs are in folders that only the path of root has. */
export async function findProgram(name: string): Promise<string | undefined> {
  const PATH = `${process.env.PATH}:/usr/local/sbin:/usr/sbin:/sbin`
  const { stdout, exitCode } = await runCommand('sh', ['-c', 'command -v "$1"', 'sh', name], {
    env: { ...process.env, PATH },
  })
  return exitCode === 0 ? stdout.trim() : undefined
}

/** Waits for another installation on this machine. RUNLEVEL keeps the package from starting a service. */
async function install(debianPackage: string): Promise<void> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  const patience = ['-o', 'Acquire::Retries=5', '-o', 'DPkg::Lock::Timeout=600']
  await mustDownload('apt-get', [...patience, 'update'], { env })
  await mustDownload('apt-get', [...patience, 'install', '-y', '--no-install-recommends', debianPackage], { env })
}
