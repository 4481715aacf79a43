// Creates the service role, which the API and the workers switch to, and grants its rights. The
// rights are granted again after every migration, so that they cover new tables of ours and of
// pg-boss.
import type { Sql } from '../db/connection/client.ts'
import { JOB_SCHEMA } from '../db/queue/jobs.ts'
import { ConfigError } from '../config-formats.ts'

/**
 * What the service may do to rows of a table, besides reading them. Of the other tables, also of new ones,
 * it may insert and update rows. History is only inserted, with the time of the database, so that nothing
 * can be written into the past: the functions below delete what is older than the owner of the database
 * wants to keep it, and than a day.
 */
export const rightsOfService = {
  // For operators who use /admin. Only the owner may set fees, disable a tenant or revive a key.
  tenants: 'insert (id, name), update (key_length_min)',
  api_keys: 'insert (tenant_id, id, prefix, secret_hash, scopes)',
  admin_actions: 'insert (id, actor, action, subject, details)',
  events: `insert (
    tenant_id, id, type, payment_id, refund_id, dispute_id, endpoint_id, object, idempotency_key
  )`,
  ledger_postings: `insert (
    tenant_id, id, transaction_id, kind, payment_id, refund_id, dispute_id, operation_id, debit, credit,
    amount_minor, currency
  )`,
  phase_runs: `insert (
    tenant_id, id, payment_id, operation_id, operation, phase, reached, attempt, lease_epoch, outcome,
    asked, answered, started_at, ended_at
  )`,
  webhook_attempts: 'insert',
  encryption_seals: 'insert',
  retention_periods: 'select',
  console_sessions: 'insert, update, delete',
  idempotency_keys: 'insert, update, delete',
  key_tombstones: 'insert, update, delete',
  provider_events: 'insert, update, delete',
  reconciliation_seen: 'insert, update, delete',
  service_processes: 'insert, update, delete',
}

/** The functions that end a key. The right to UPDATE would let the service revive one. */
const KEY_FUNCTIONS = ['retire_api_key(uuid, interval)', 'revoke_api_key(uuid)']

/** The functions that delete old records. The right to DELETE would let the service delete any. */
const RETENTION_FUNCTIONS = [
  'deliveries',
  'phase_runs',
  'events',
  'admin_actions',
  'payment_details',
].map((records) => `delete_old_${records}(timestamptz, integer)`)

/** What statements and CHECKs call. An owner may have taken the right to execute functions from PUBLIC. */
const CALLED_FUNCTIONS = [
  'next_id',
  'first_id_in_flight',
  'first_id_of_place',
  'place_of_id',
  'id_lock',
  'refuse_row',
  'payments_rules',
  'refunds_rules',
  'idempotency_keys_rules',
  'ledger_postings_rules',
]

const SERVICE_FUNCTIONS = [...KEY_FUNCTIONS, ...RETENTION_FUNCTIONS, ...CALLED_FUNCTIONS]

/**
 * Ignores errors of a race: another database of the cluster may migrate at the same moment. Since
 * PostgreSQL 16, membership in a role does not imply the right to SET ROLE.
 */
const createRole = (role: string): string => `
  do $$
  declare
    membership text := case
      when current_setting('server_version_num')::int >= 160000 then 'set' else 'member' end;
  begin
    begin
      if not exists (select from pg_roles where rolname = '${role}') then
        create role ${role} nologin;
      end if;
    exception when duplicate_object or unique_violation then null;
    end;
    if not pg_has_role(current_user, '${role}', membership) then
      grant ${role} to current_user;
    end if;
  exception when unique_violation then null;
  end $$
`

/** One multi-statement query is one transaction: a running service never lacks its rights. */
const grantRights = (role: string): string => `
  grant usage on schema public, drizzle, ${JOB_SCHEMA} to ${role};
  revoke all on all tables in schema public, drizzle, ${JOB_SCHEMA} from ${role};
  grant select on all tables in schema drizzle to ${role};
  grant select, insert, update on all tables in schema public to ${role};
  grant select, insert, update, delete on all tables in schema ${JOB_SCHEMA} to ${role};
  grant execute on function ${SERVICE_FUNCTIONS.join(', ')} to ${role};
  revoke insert, update on ${Object.keys(rightsOfService).join(', ')} from ${role};
  ${Object.entries(rightsOfService)
    .map(([table, rights]) => `grant ${rights} on ${table} to ${role};`)
    .join('\n  ')}
`

/**
 * Creates the role unless it exists, lets the current user switch to it, and grants its rights in
 * this database: to read which migrations were applied, and to read and write our tables and
 * pg-boss's, with the restrictions above. The role can run no DDL and no TRUNCATE.
 *
 * @throws the driver's error when the role is missing and the current user may not create roles.
 */
export async function grantServiceRights(sql: Sql, role: string): Promise<void> {
  await sql.unsafe(createRole(role))
  await sql.unsafe(grantRights(role))
}

/** What the user of DATABASE_URL may do. With a managed database it is no superuser. */
interface OwnerRights {
  readonly user: string
  readonly database: string
  readonly roleExists: boolean
  readonly mayCreateRole: boolean
  readonly maySetRole: boolean
  readonly mayGrantRole: boolean
  readonly hasSchemas: boolean
  readonly mayCreateSchemas: boolean
  readonly mayCreateTables: boolean
}

/**
 * Checks, before the first statement of a migration, that its user may do what it does.
 *
 * @param role the role that the API and the workers switch to.
 * @throws ConfigError with the statements that an administrator has to run.
 */
export async function requireOwnerRights(sql: Sql, role: string): Promise<void> {
  const rights = await readOwnerRights(sql, role)
  const statements = missingStatements(rights, role)
  if (statements.length === 0) return
  const { user, database, roleExists, maySetRole } = rights
  const isAnothers = roleExists && !maySetRole
  const hint = isAnothers
    ? `\n\nThe role ${role} exists already. If another owner's database uses it, set\n` +
      'DATABASE_SERVICE_ROLE to a name of your own instead, for the migration, the API and the workers:\n' +
      'who may switch to the role can read the tables of both databases.'
    : ''
  throw new ConfigError(
    `The user ${user} lacks rights. Let an administrator run this in the database ${database}, ` +
      `and migrate again:\n\n${statements.map((statement) => `  ${statement}`).join('\n')}${hint}`,
  )
}

/** Reads the rights of the current user that a migration needs. */
export async function readOwnerRights(sql: Sql, role: string): Promise<OwnerRights> {
  const [rights] = await sql<OwnerRights[]>`
    with own as (
      select
        rolsuper as is_super, rolcreaterole as creates_roles,
        current_setting('server_version_num')::int >= 160000 as has_options
      from pg_roles where rolname = current_user
    ),
    service as (select oid from pg_roles where rolname = ${role})
    select
      quote_ident(current_user) as user, quote_ident(current_database()) as database,
      service.oid is not null as "roleExists",
      is_super or creates_roles as "mayCreateRole",
      -- Since PostgreSQL 16, membership in a role does not imply the right to SET ROLE, and the right
      -- to create roles does not imply the right to grant those of others.
      coalesce(
        pg_has_role(current_user, service.oid, case when has_options then 'set' else 'member' end),
        false
      ) as "maySetRole",
      is_super or coalesce(
        case when has_options then pg_has_role(current_user, service.oid, 'member with admin option')
          else creates_roles end,
        false
      ) as "mayGrantRole",
      to_regnamespace('drizzle') is not null and to_regnamespace(${JOB_SCHEMA}) is not null
        as "hasSchemas",
      has_database_privilege(current_database(), 'create') as "mayCreateSchemas",
      has_schema_privilege('public', 'create') as "mayCreateTables"
    from own left join service on true
  `
  if (rights === undefined) throw new Error('the current user is not in pg_roles')
  return rights
}

function missingStatements(rights: OwnerRights, role: string): string[] {
  const { user, database, roleExists, mayCreateRole, maySetRole, mayGrantRole } = rights
  const lacksRole = !roleExists && !mayCreateRole
  const lacksGrant = lacksRole || (roleExists && !maySetRole && !mayGrantRole)
  const lacksSchemas = !rights.hasSchemas && !rights.mayCreateSchemas
  return [
    ...(lacksRole ? [`create role ${role} nologin;`] : []),
    ...(lacksGrant ? [`grant ${role} to ${user};`] : []),
    ...(lacksSchemas ? [`grant create on database ${database} to ${user};`] : []),
    ...(rights.mayCreateTables ? [] : [`grant usage, create on schema public to ${user};`]),
  ]
}
