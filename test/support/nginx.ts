// Starts a real nginx with the example of docs/reverse-proxy.md.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { findFreePort } from '../../dev/ports.ts'
import { makeAuthority } from './certificates.ts'
import { requireProgram } from './find-program.ts'
import { makeTemporaryFolder } from './temporary-folder.ts'
import { testWith } from './test-with.ts'
import { until } from './until.ts'

export const testBehindNginx = testWith('nginx')

export interface ProxyAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

export interface Nginx {
  /** Sends a request over TLS to the name of the example. */
  send(
    method: string,
    path: string,
    headers?: Readonly<Record<string, string>>,
    body?: string,
  ): Promise<ProxyAnswer>
  stop(): Promise<void>
}

/**
 * Starts nginx with a configuration for its `http` context. The two API processes of the example
 * are replaced by those at `urls`; its port and its certificate by others.
 *
 * @throws Error when nginx is not installed, or does not start.
 */
export async function startNginx(example: string, urls: readonly [string, string]): Promise<Nginx> {
  const executable = requireProgram('nginx')
  const folder = await makeTemporaryFolder()
  const [, name = ''] = /server_name (\S+);/.exec(example) ?? []
  const authority = await makeAuthority(folder, 'ca')
  const { certificate, key } = await authority.issue('proxy', [{ dns: name }])
  const ca = await readFile(authority.certificate)
  const port = await findFreePort()
  const own = replaceEach(example, {
    'listen 443 ssl;': `listen 127.0.0.1:${port} ssl;`,
    'server 127.0.0.1:3000 ': `server ${new URL(urls[0]).host} `,
    'server 127.0.0.1:3001 ': `server ${new URL(urls[1]).host} `,
    '/etc/ssl/payments.example.com.pem': certificate,
    '/etc/ssl/private/payments.example.com.key': key,
  })
  const file = join(folder, 'nginx.conf')
  await mkdir(join(folder, 'temporary'), { mode: 0o777 })
  await writeFile(file, aroundExample(folder, own))
  const child = spawn(executable, ['-e', 'stderr', '-c', file], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const exited = once(child, 'exit')
  const log = text(child.stderr)
  const ended = exited.then(async () => {
    throw new Error(`nginx exited:\n${await log}`)
  })
  await Promise.race([until(() => listens(port)), ended])
  ended.catch(() => {})
  return {
    async send(method, path, headers = {}, body) {
      const sent = request({
        host: '127.0.0.1',
        port,
        servername: name,
        ca,
        method,
        path,
        headers: { host: name, ...headers },
      })
      sent.end(body)
      const [answer] = (await once(sent, 'response')) as [IncomingMessage]
      return { status: answer.statusCode ?? 0, headers: answer.headers, text: await text(answer) }
    },
    async stop() {
      child.kill('SIGTERM')
      await exited
    },
  }
}

/** What Debian's nginx.conf has around the files of conf.d, with all files in the folder. */
function aroundExample(folder: string, example: string): string {
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const temporary = kinds.map((kind) => `${kind}_temp_path ${folder}/temporary/${kind};`)
  return [
    'daemon off;',
    `pid ${folder}/nginx.pid;`,
    'error_log stderr warn;',
    'events {}',
    `http { access_log off; ${temporary.join(' ')}`,
    example,
    '}',
  ].join('\n')
}

function replaceEach(example: string, replacements: Readonly<Record<string, string>>): string {
  let replaced = example
  for (const [from, to] of Object.entries(replacements)) {
    if (!replaced.includes(from)) throw new Error(`the example has no ${from}`)
    replaced = replaced.replace(from, to)
  }
  return replaced
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
