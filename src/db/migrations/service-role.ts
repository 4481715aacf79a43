// Creates the service role, which the API and the workers switch to, and grants its rights. The
// rights are granted again after every migration, so that they cover new tables of ours and of
// pg-boss.
import type { Sql } from '../connection/client.ts'
import { JOB_SCHEMA } from '../queue/jobs.ts'

/** Tables whose rows the service may not change, except as said below. */
const READ_ONLY = ['tenants', 'api_keys', 'retention_periods']

/** Tables from which the service deletes. New tables have no such right. */
const DELETABLE = [
  'console_sessions',
  'idempotency_keys',
  'key_tombstones',
  'provider_events',
  'reconciliation_seen',
  'service_processes',
]

/**
 * The columns that the service may insert. For operators who use /admin: a tenant without fees, and an
 * API key. Only the owner of the database may set fees or disable a tenant. And history, whose time is
 * that of the database, so that nothing can be written into the past.
 */
const INSERTABLE_COLUMNS = {
  tenants: ['id', 'name'],
  api_keys: ['tenant_id', 'id', 'prefix', 'secret_hash', 'scopes'],
  admin_actions: ['id', 'actor', 'action', 'subject', 'details'],
  events: [
    'tenant_id',
    'id',
    'type',
    'payment_id',
    'refund_id',
    'dispute_id',
    'endpoint_id',
    'object',
    'idempotency_key',
  ],
  ledger_postings: [
    'tenant_id',
    'id',
    'transaction_id',
    'kind',
    'payment_id',
    'refund_id',
    'dispute_id',
    'operation_id',
    'debit',
    'credit',
    'amount_minor',
    'currency',
  ],
  phase_runs: [
    'tenant_id',
    'id',
    'payment_id',
    'operation_id',
    'operation',
    'phase',
    'reached',
    'attempt',
    'lease_epoch',
    'outcome',
    'asked',
    'answered',
    'started_at',
    'ended_at',
  ],
}

/** The columns that the service may change, for operators who use /admin. */
const UPDATABLE_COLUMNS = { tenants: ['key_length_min'] }

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
 * Tables that the service may only insert into: Postgres refuses to change their history. The
 * functions above delete what is older than the owner wants to keep it, and than a day.
 */
const APPEND_ONLY = [
  'ledger_postings',
  'events',
  'phase_runs',
  'webhook_attempts',
  'admin_actions',
  'encryption_seals',
]

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
  grant delete on ${DELETABLE.join(', ')} to ${role};
  revoke update on ${APPEND_ONLY.join(', ')} from ${role};
  revoke insert, update on ${READ_ONLY.join(', ')} from ${role};
  revoke insert on ${Object.keys(INSERTABLE_COLUMNS).join(', ')} from ${role};
  ${Object.entries(INSERTABLE_COLUMNS)
    .map(([table, columns]) => `grant insert (${columns.join(', ')}) on ${table} to ${role};`)
    .join('\n  ')}
  ${Object.entries(UPDATABLE_COLUMNS)
    .map(([table, columns]) => `grant update (${columns.join(', ')}) on ${table} to ${role};`)
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
