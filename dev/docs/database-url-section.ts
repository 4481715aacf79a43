// Renders the parameters of DATABASE_URL, a part of docs/configuration.md. The types make sure that
// each parameter is described.
import type { DatabaseUrlParameter } from '../../src/database-url.ts'

const INTRODUCTION = `## The parameters of \`DATABASE_URL\`

\`postgres://user:password@host:port/database?parameter=value&parameter=value\`, with several hosts
\`postgres://user:password@a:5432,b:5432/database\`. The parameters mean what they mean for
[libpq](https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PARAMKEYWORDS), except for
what the table says. They hold for every connection: those of the API, the workers, the job queue,
the migration, the dashboard and all commands. An unknown or contradictory one stops the process at
its start. Certificates are read at the start: restart to use new ones. In a user and a password, write
\`: / ? # @ %\` as \`%3A %2F %3F %23 %40 %25\`. The name of a database with one of them goes in \`dbname\`.
`

const MEANINGS: Readonly<Record<DatabaseUrlParameter, string>> = {
  sslmode:
    '`disable` (the default; libpq has `prefer`): no TLS. `prefer`: TLS if the server has it; `allow` is read as `prefer`. `require`: TLS, but **nothing is verified**, unless `sslrootcert` is set. `verify-ca`: the server has a certificate of the CA in `sslrootcert`. `verify-full`: and it names the host. Use `verify-full` outside a private network. A Unix socket has no TLS.',
  sslrootcert:
    'A file with CAs, PEM. With it `sslmode=require` means `verify-ca`. `system`: the CAs of Node (its variable NODE_EXTRA_CA_CERTS adds some) and of the system, and `sslmode=verify-full`. These are also the default of `verify-full`: no file in a home folder is read.',
  sslcert: 'A file with the certificate of the client, PEM. Needs `sslkey`.',
  sslkey: 'The file with its key, PEM.',
  sslpassword: 'The passphrase of `sslkey`.',
  sslnegotiation: 'Only `postgres`, the default.',
  channel_binding:
    '`disable` and `prefer` change nothing: the driver has no channel binding. `require` is kept by `sslmode=verify-full`, which protects against the same attack.',
  target_session_attrs:
    '`any` (the default): the only host, without asking; of several hosts, the primary. `primary` or `read-write`: the primary. All hosts are asked at once. A standby is never used, and a former primary not after the promotion of a later one. Other values are refused, because the service writes.',
  connect_timeout: 'Seconds for each host. By default `STORE_TIMEOUT_MS`, 10 s at most.',
  options:
    'Settings for the session, percent-encoded: `-c%20work_mem%3D8MB`. Those that change what is read or written, and timeouts, are fixed by the service.',
  host: 'Replaces the hosts of the URL, for example by the folder of a Unix socket: `host=/cloudsql/project:region:instance`.',
  port: 'One port, or one for each host. The default is 5432.',
  user: 'As in the URL.',
  password: 'As in the URL.',
  dbname: 'As in the URL.',
  client_encoding: 'Only `UTF8`.',
  gssencmode: 'Only `disable` and `prefer`: there is no GSSAPI.',
}

export function renderDatabaseUrlSection(): string {
  const rows = Object.entries(MEANINGS).map(([name, meaning]) => `| \`${name}\` | ${meaning} |`)
  return [INTRODUCTION, '| parameter | meaning |', '|---|---|', ...rows].join('\n').concat('\n')
}
