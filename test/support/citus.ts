// Makes a plain PostgreSQL look like Citus to a migration: its functions that distribute do nothing. So
// statements are executed in parts, on one node.
import postgres from 'postgres'
import { SERVICE_ROLE } from '../../src/config.ts'
import { migrateDatabase } from '../../src/db/migrations/migrate.ts'
import { grantServiceRights } from '../../src/db/migrations/service-role.ts'

const ROLE_IN_PARTS = 'test_parts_service'

export async function executeInParts(ownerUrl: string): Promise<void> {
  const sql = postgres(ownerUrl, { max: 1, onnotice: () => {} })
  try {
    await sql.unsafe(`
      create function create_reference_table(name text) returns void
        language sql as '';
      create function create_distributed_table(name text, by text, colocate_with text default null)
        returns void language sql as '';
      create function citus_add_local_table_to_metadata(name regclass) returns void
        language sql as '';
      create function run_command_on_placements(name regclass, command text) returns void
        language sql as '';
    `)
  } finally {
    await sql.end()
  }
  // The usual role can log in with Citus. All databases of the cluster share it, so it stays as it is.
  await migrateDatabase(ownerUrl, { role: ROLE_IN_PARTS, citus: true })
  const owner = postgres(ownerUrl, { max: 1, onnotice: () => {} })
  try {
    await grantServiceRights(owner, SERVICE_ROLE)
    await owner.unsafe(`grant select, update on drizzle.two_phases to ${SERVICE_ROLE}`)
  } finally {
    await owner.end()
  }
}

/**
 * CITUS_URL is the URL of a coordinator, as a superuser. Then each database in parts is a database of
 * Citus, on all its nodes.
 */
export const citusUrl = (): string | undefined => process.env['CITUS_URL']

/** Creates a database with distributed tables, and returns its URL and a function that drops it. */
export async function createCitusDatabase(
  name: string,
): Promise<{ url: string; drop: () => Promise<void> }> {
  const coordinator = new URL(citusUrl() ?? '')
  const workers = await execute(
    coordinator,
    (sql) => sql<{ host: string; port: number }[]>`
      select nodename as host, nodeport as port from pg_dist_node where groupid <> 0
    `,
  )
  const nodes = [coordinator, ...workers.map((node) => at(coordinator, node))]
  for (const node of nodes) {
    await execute(node, async (sql) => {
      await sql`set citus.enable_create_database_propagation = off`
      await sql.unsafe(`create database ${name}`)
    })
    await execute(database(node, name), (sql) => sql`create extension citus`)
  }
  const url = database(coordinator, name)
  await execute(url, async (sql) => {
    const { hostname, port } = coordinator
    await sql`select citus_set_coordinator_host(${hostname}, ${Number(port)})`
    for (const { host, port: at } of workers) await sql`select citus_add_node(${host}, ${at})`
  })
  await migrateDatabase(url.href, { citus: true })
  const drop = async () => {
    for (const node of nodes) {
      await execute(node, (sql) => sql.unsafe(`drop database if exists ${name} with (force)`))
    }
  }
  return { url: url.href, drop }
}

const at = (url: URL, { host, port }: { host: string; port: number }): URL =>
  Object.assign(new URL(url), { hostname: host, port: String(port) })

const database = (url: URL, name: string): URL => Object.assign(new URL(url), { pathname: name })

async function execute<Result>(
  url: URL,
  work: (sql: postgres.Sql) => PromiseLike<Result>,
): Promise<Result> {
  const sql = postgres(url.href, { max: 1, onnotice: () => {} })
  try {
    return await work(sql)
  } finally {
    await sql.end()
  }
}
