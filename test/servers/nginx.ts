import { readFile, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Identity } from './certificates.ts'
import { makeGuardedFolder, spawnGuarded } from './guard.ts'
import { nginxBinary } from './nginx-binary.ts'
import { findFreePorts } from './ports.ts'
import { mustRun } from './run-command.ts'

export interface NginxOptions {
  /** Whom all is handed to: an address with a path, without a slash at its end. */
  upstream: string
  /** Where it is found, such as `/registry`. */
  basePath: string
  login?: { username: string; password: string }
  tls?: { server: Identity; clientCa?: Identity }
}

export interface Nginx {
  /** With the base path. */
  url: string
  /** `status method path` of every request, and the scheme of the login that came with it. */
  requests(): Promise<{ line: string; scheme: string }[]>
  stop(): Promise<void>
}

/** Starts a reverse proxy on a free port of 127.0.0.1. Certificates name localhost. */
export async function startNginx(options: NginxOptions): Promise<Nginx> {
  const program = await nginxBinary()
  const folder = await makeGuardedFolder('nginx')
  const [port = 0] = await findFreePorts(1)
  const log = join(folder.path, 'access.log')
  if (options.login) await writeFile(join(folder.path, 'users'), await formatLogin(options.login))
  await writeFile(join(folder.path, 'nginx.conf'), formatConfig(options, folder.path, port))
  const flags = ['-p', folder.path, '-c', join(folder.path, 'nginx.conf'), '-e', join(folder.path, 'error.log')]
  await mustRun(program, [...flags, '-t'])
  const server = spawnGuarded(program, flags, { cwd: folder.path, logFile: join(folder.path, 'out.log') })
  while (!(await accepts(port))) {
    if (server.hasExited())
      throw new Error(`nginx has ended: ${await readFile(join(folder.path, 'error.log'), 'utf8')}`)
    await sleep(20)
  }
  return {
    url: `${options.tls ? 'https' : 'http'}://localhost:${port}${options.basePath}`,
    requests: async () => parseLog(await readFile(log, 'utf8')),
    stop: async () => {
      await server.end('SIGKILL')
      await folder.remove()
    },
  }
}

function formatConfig({ upstream, basePath, login, tls }: NginxOptions, folder: string, port: number): string {
  const secured = tls && [
    `ssl_certificate ${tls.server.cert};`,
    `ssl_certificate_key ${tls.server.key};`,
    ...(tls.clientCa ? [`ssl_client_certificate ${tls.clientCa.cert};`, 'ssl_verify_client on;'] : []),
  ]
  // What follows the base path is handed on as it came: nginx would decode it otherwise.
  return `
    daemon off;
    user root;
    pid ${folder}/nginx.pid;
    worker_processes 1;
    events {}
    http {
      log_format short '$scheme_of_login $status $request_method $request_uri';
      map $http_authorization $scheme_of_login { default none; "~^(?<word>[A-Za-z]+) ." $word; }
      access_log ${folder}/access.log short;
      client_body_temp_path ${folder};
      proxy_temp_path ${folder};
      fastcgi_temp_path ${folder};
      uwsgi_temp_path ${folder};
      scgi_temp_path ${folder};
      client_max_body_size 8m;
      map $request_uri $rest { "~^${basePath}(?<below>/.*)$" $below; }
      server {
        listen 127.0.0.1:${port}${tls ? ' ssl' : ''};
        server_name localhost;
        ${secured?.join('\n        ') ?? ''}
        ${login ? `auth_basic registry;\n        auth_basic_user_file ${folder}/users;` : ''}
        location ${basePath}/ {
          proxy_pass ${upstream}$rest;
        }
      }
    }`
}

function parseLog(text: string): { line: string; scheme: string }[] {
  const lines = text.split('\n').filter(line => line !== '')
  return lines.map(line => ({ scheme: line.slice(0, line.indexOf(' ')), line: line.slice(line.indexOf(' ') + 1) }))
}

async function formatLogin({ username, password }: { username: string; password: string }): Promise<string> {
  const hash = await mustRun('openssl', ['passwd', '-apr1', '-stdin'], { input: password })
  return `${username}:${hash.trim()}\n`
}

function accepts(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
