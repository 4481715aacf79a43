// Turns row-level security off and on again, to measure its cost.
import type { Sql } from '../../src/db/connection/client.ts'

/**
 * Switches all tables that have policies. Prepared statements on them are planned again. Each table
 * is switched in a transaction of its own: with locks on several, it could be in a deadlock with a
 * statement of the service.
 */
export async function switchRowSecurity(sql: Sql, to: 'enable' | 'disable'): Promise<void> {
  await sql.unsafe(`
    do $$
    declare
      walled regclass;
    begin
      for walled in select distinct polrelid::regclass from pg_policy loop
        execute format('alter table %s ${to} row level security', walled);
        commit;
      end loop;
    end
    $$
  `)
}
