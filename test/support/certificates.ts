// Makes a private CA and certificates of it, as PEM files.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { generate } from 'selfsigned'

export interface Certified {
  /** The paths of the files. */
  readonly certificate: string
  readonly key: string
}

export interface Authority extends Certified {
  /** Issues a certificate for a client of this name, or for a server of these names. */
  issue(name: string, servers?: readonly ServerName[]): Promise<Certified>
}

export type ServerName = { readonly dns: string } | { readonly ip: string }

const HOUR_MS = 3_600_000
const options = { keyType: 'ec', algorithm: 'sha256' } as const

/** Makes a CA. Its files, and those of its certificates, are in the folder. */
export async function makeAuthority(folder: string, name: string): Promise<Authority> {
  const validFrom = new Date(Date.now() - HOUR_MS)
  const authority = await generate([{ name: 'commonName', value: name }], {
    ...options,
    notBeforeDate: validFrom,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  })
  return {
    ...(await writeFiles(folder, name, authority)),
    async issue(subject, servers = []) {
      const issued = await generate([{ name: 'commonName', value: subject }], {
        ...options,
        notBeforeDate: validFrom,
        ca: { cert: authority.cert, key: authority.private },
        extensions: [
          { name: 'keyUsage', digitalSignature: true, critical: true },
          { name: 'extKeyUsage', serverAuth: servers.length > 0, clientAuth: servers.length === 0 },
          ...(servers.length > 0 ? [alternativeNames(servers)] : []),
        ],
      })
      return writeFiles(folder, `${name}-${subject}`, issued)
    },
  }
}

function alternativeNames(servers: readonly ServerName[]) {
  const altNames = servers.map((server) =>
    'ip' in server
      ? ({ type: 7, ip: server.ip } as const)
      : ({ type: 2, value: server.dns } as const),
  )
  return { name: 'subjectAltName', altNames } as const
}

async function writeFiles(
  folder: string,
  name: string,
  { cert, private: privateKey }: { cert: string; private: string },
): Promise<Certified> {
  const certificate = join(folder, `${name}.crt`)
  const key = join(folder, `${name}.key`)
  await writeFile(certificate, cert)
  await writeFile(key, privateKey, { mode: 0o600 })
  return { certificate, key }
}
