import { expect, test } from '@jest/globals'
import postgres from 'postgres'
import { createTestDatabase } from './database.ts'

test('databases made at once are separate, migrated, and gone after drop', async () => {
  const databases = await Promise.all(Array.from({ length: 8 }, () => createTestDatabase()))
  for (const { url } of databases) {
    const sql = postgres(url, { max: 1 })
    const [row] = await sql`select count(*)::int as payments from payments`
    expect(row).toEqual({ payments: 0 })
    await sql.end()
  }
  await Promise.all(databases.map((database) => database.drop()))
})
