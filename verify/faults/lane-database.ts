// Creates the databases of lanes: empty ones, or copies of a migrated one.
import { withStore } from '../../dev/embedded-postgres/with-store.ts'
import type { LaneOptions } from './lane-options.ts'

const ON_DISK = 'small_disk'

/** Returns the URL for the owner of the database. */
export async function makeDatabase({
  server,
  name,
  template = 'template1',
  disk,
}: Pick<LaneOptions, 'server' | 'name' | 'template' | 'disk'>): Promise<string> {
  await withStore(server.url('postgres'), async ({ sql }) => {
    if (disk === undefined || typeof disk === 'string') {
      await sql`create database ${sql(name)} template ${sql(template)}`
    } else {
      await sql.unsafe(`create tablespace ${ON_DISK} location '${disk.tablespace}'`)
      await sql`create database ${sql(name)} template ${sql(template)} tablespace ${sql(ON_DISK)}`
    }
  })
  return server.url(name)
}
