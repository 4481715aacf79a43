// Creates databases of a real Citus, and kills its nodes.
import postgres from 'postgres'
import { EVERY_TENANT, TENANTS_SETTING } from '../../src/db/connection/transaction.ts'
import { migrateDatabase } from '../../src/migrations/migrate.ts'
import { until } from './until.ts'

/** CITUS_URL is the URL of a coordinator, as a superuser. Then each database of a test is one of Citus. */
export const citusUrl = (): string | undefined => process.env['CITUS_URL']

export const isOnCitus = (): boolean => citusUrl() !== undefined

/** The driver's own query for the types of arrays would end the process when a node is killed meanwhile. */
const OPTIONS = { max: 1, connect_timeout: 5, fetch_types: false, onnotice: () => {} } as const

/** No superuser, as with a managed Citus. */
const OWNER = 'test_citus_owner'

interface CitusDatabase {
  /** As its owner. */
  readonly url: string
  readonly adminUrl: string
  drop(): Promise<void>
}

/** Creates a database with distributed tables. */
export async function createCitusDatabase(name: string): Promise<CitusDatabase> {
  const coordinator = new URL(citusUrl() ?? '')
  const nodes = await listNodes()
  for (const node of nodes) {
    await execute(node, async (sql) => {
      await sql`set citus.enable_create_database_propagation = off`
      await sql`set citus.enable_create_role_propagation = off`
      await sql`set citus.enable_alter_role_set_propagation = off`
      await sql.unsafe(`
        do $$ begin
          if to_regrole('${OWNER}') is null then create role ${OWNER} login createrole; end if;
        end $$
      `)
      // Test files read the rows of every tenant.
      await sql.unsafe(`alter role ${OWNER} set ${TENANTS_SETTING} = '${EVERY_TENANT}'`)
      await sql.unsafe(`create database ${name} owner ${OWNER}`)
    })
    await execute(database(node, name), (sql) => sql`create extension citus`)
  }
  const admin = database(coordinator, name)
  await execute(admin, async (sql) => {
    const [{ hostname, port }, ...workers] = nodes
    await sql`select citus_set_coordinator_host(${hostname}, ${Number(port)})`
    for (const worker of workers) {
      await sql`select citus_add_node(${worker.hostname}, ${Number(worker.port)})`
    }
  })
  const url = Object.assign(new URL(admin), { username: OWNER })
  await migrateDatabase(url.href, { citus: true })
  const drop = async () => {
    for (const node of nodes) {
      await execute(node, (sql) => sql.unsafe(`drop database if exists ${name} with (force)`))
    }
  }
  return { url: url.href, adminUrl: admin.href, drop }
}

/** The URLs of the coordinator and the other nodes, as a superuser. */
export async function listNodes(): Promise<[URL, ...URL[]]> {
  const coordinator = new URL(citusUrl() ?? '')
  const workers = await execute(
    coordinator,
    (sql) => sql<{ hostname: string; port: string }[]>`
      select nodename as hostname, nodeport::text as port from pg_dist_node where groupid <> 0
    `,
  )
  return [coordinator, ...workers.map((worker) => Object.assign(new URL(coordinator), worker))]
}

/**
 * Runs in the folder of a node's data, and starts the node as it was started before. It must not keep
 * the connection that it inherits.
 */
const KILL_AND_START = `
  for fd in /proc/$$/fd/*; do
    fd=\${fd##*/}
    if [ $fd -gt 2 ]; then eval "exec $fd>&-"; fi
  done
  kill -9 $(head -n 1 postmaster.pid)
  sleep 3
  eval set -- $(cat postmaster.opts)
  bin=$(dirname "$1")
  shift
  until "$bin/pg_ctl" start -w -D . -o "$*" -l started-again.log; do sleep 0.2; done
`

/** Kills the server of a node, which starts again after three seconds. */
export async function killNode(node: URL): Promise<void> {
  const before = await execute(node, readStart)
  // It reads what is copied to it: the server counts a broken pipe as an error.
  const program = `cat > /dev/null; setsid bash -c '${KILL_AND_START}' > /dev/null 2>&1 &`
  // It may be dead before it answers.
  await execute(node, (sql) =>
    sql.unsafe(`copy (select 1) to program $program$${program}$program$`),
  ).catch(() => {})
  await until(async () => (await execute(node, readStart).catch(() => before)) !== before)
}

/**
 * Kills the coordinator between the two phases of the next commit that adds rows to the table: what
 * it has itself is durable, and the nodes have prepared their parts and not committed them.
 */
export async function killBetweenPhases(
  { adminUrl }: { readonly adminUrl: string },
  table: string,
): Promise<void> {
  const coordinator = new URL(adminUrl)
  const connect = () => postgres(adminUrl, OPTIONS)
  const [lock, probe] = [connect(), connect()]
  try {
    await lock.unsafe(`begin; lock table ${table} in share mode`)
    const waiting = await until(() => execute(coordinator, (sql) => findWaiting(sql, table)))
    await configure(coordinator, `set synchronous_standby_names = 'no_such_standby'`)
    const [own] = await probe<{ pid: number }[]>`select pg_backend_pid() as pid`
    probe`select pg_logical_emit_message(true, 'test', 'waits for a standby')`.catch(() => {})
    await until(() => waitsForStandby(coordinator, own?.pid ?? 0))
    await lock`rollback`
    await until(() => waitsForStandby(coordinator, waiting))
    await killNode(coordinator)
    await configure(coordinator, 'reset synchronous_standby_names')
  } finally {
    await Promise.all([lock.end({ timeout: 1 }), probe.end({ timeout: 1 })])
  }
}

async function configure(node: URL, change: string): Promise<void> {
  await execute(node, async (sql) => {
    await sql.unsafe(`alter system ${change}`)
    await sql`select pg_reload_conf()`
  })
}

/** The session that waits to add rows to the table. */
async function findWaiting(sql: postgres.Sql, table: string): Promise<number | undefined> {
  const [row] = await sql<{ pid: number }[]>`
    select pid from pg_stat_activity
    where wait_event = 'relation' and query like ${`insert into ${table} %`}
  `
  return row?.pid
}

async function waitsForStandby(node: URL, pid: number): Promise<boolean> {
  const waits = await execute(
    node,
    (sql) => sql`select from pg_stat_activity where pid = ${pid} and wait_event = 'SyncRep'`,
  )
  return waits.count > 0
}

async function readStart(sql: postgres.Sql): Promise<string | undefined> {
  const [row] = await sql<{ at: string }[]>`select pg_postmaster_start_time()::text as at`
  return row?.at
}

const database = (url: URL, name: string): URL => Object.assign(new URL(url), { pathname: name })

async function execute<Result>(
  url: URL,
  work: (sql: postgres.Sql) => PromiseLike<Result>,
): Promise<Result> {
  const sql = postgres(url.href, OPTIONS)
  try {
    return await work(sql)
  } finally {
    // The server may be gone.
    await sql.end({ timeout: 1 })
  }
}
