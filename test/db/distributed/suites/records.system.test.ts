import './in-parts.ts'
import '../../../db/operations/batch-records.test.ts'
