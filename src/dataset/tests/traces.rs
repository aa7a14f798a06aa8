//! Traces: rows that state lengths and times in place of texts.

use super::*;

const MOONCAKE: &str = "{\"timestamp\": 1000, \"input_length\": 1300, \"output_length\": 5, \"hash_ids\": [1, 2, 3]}\n\
    {\"timestamp\": 1040, \"input_length\": 600, \"output_length\": 6, \"hash_ids\": [1, 9]}\n\
    {\"timestamp\": 1030, \"input_length\": 10, \"output_length\": 7, \"hash_ids\": [-1]}\n\
    {\"timestamp\": 1090, \"input_length\": 600, \"output_length\": 0, \"hash_ids\": [1, 9]}\n\
    {\"timestamp\": 1095, \"input_length\": 600, \"output_length\": 1, \"hash_ids\": [1]}\n";

fn scanned_with(text: &str, change: impl FnOnce(&mut Source)) -> Result<Dataset, ScanError> {
    let file = file(text.as_bytes());
    let mut source = source(file.path(), None);
    change(&mut source);
    Dataset::scan(&source)
}

fn ms(dataset: &Dataset) -> Vec<u128> {
    dataset.times().iter().map(Duration::as_millis).collect()
}

fn skipped(dataset: &Dataset) -> Vec<(SkipReason, u64)> {
    dataset.skipped().iter().map(|skipped| (skipped.reason, skipped.count)).collect()
}

#[test]
fn mooncake_is_in_milliseconds_with_an_id_for_each_block() {
    let set = scanned_with(MOONCAKE, |_| {}).unwrap();
    assert_eq!((set.format(), ms(&set)), (Format::Mooncake, vec![0, 30, 40]));
    assert_eq!((set.unsorted(), set.is_sized()), (1, true));
    assert_eq!(skipped(&set), [(SkipReason::Zero, 1), (SkipReason::Blocks, 1)]);
    let lengths = set.lengths().iter().map(|lengths| (lengths.prompt, lengths.output)).collect::<Vec<_>>();
    assert_eq!(lengths, [(Some(1300), Some(5)), (Some(10), Some(7)), (Some(600), Some(6))]);
    let size = |index| set.row(index).unwrap().size.unwrap();
    assert_eq!(size(0), Size { prompt_tokens: 1300, blocks: vec![1, 2, 3], block_tokens: 512 });
    assert_eq!(size(1).blocks, [u64::MAX]);
    assert_eq!(size(2).blocks, [1, 9]);
}

#[test]
fn bailian_is_in_seconds_with_blocks_of_sixteen() {
    let text = "{\"chat_id\": 159, \"parent_chat_id\": 55, \"timestamp\": 61.114, \"input_length\": 21, \
                \"output_length\": 132, \"type\": \"text\", \"turn\": 2, \"hash_ids\": [1089, 4]}\n\
                {\"chat_id\": 160, \"parent_chat_id\": -1, \"timestamp\": 62.2, \"input_length\": 16, \
                \"output_length\": 1, \"type\": \"text\", \"turn\": 1, \"hash_ids\": [1089]}\n";
    let set = scanned_with(text, |_| {}).unwrap();
    assert_eq!((set.format(), ms(&set)), (Format::Bailian, vec![0, 1086]));
    assert_eq!(set.row(0).unwrap().size.unwrap().block_tokens, 16);
}

#[test]
fn azure_and_burstgpt_are_known_by_their_headers() {
    let azure = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.9799600,4808,10\r\n\
                 2023-11-16 18:17:04.0319601,3180,8";
    let set = scanned_with(azure, |_| {}).unwrap();
    assert_eq!((set.format(), set.times()[1].as_nanos()), (Format::Azure, 52_000_100));
    let images = "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n2024-01-01 00:00:00,2,5,6\n";
    assert_eq!(
        scanned_with(images, |_| {}).unwrap().lengths()[0],
        Lengths { prompt: Some(5), output: Some(6) }
    );
    let moved = "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n\
                 19440110.0,\"a,b\",43,GPT-4,906,446,1352,Conversation log\n\
                 19440161.5,c,2,GPT-4,7,0,7,API log\n19440161.5,c,2,GPT-4,7,3,10,API log\n";
    let set = scanned_with(moved, |_| {}).unwrap();
    assert_eq!(
        (set.format(), ms(&set), skipped(&set)),
        (Format::BurstGpt, vec![0, 51_500], vec![(SkipReason::Zero, 1)])
    );
    assert_eq!(set.lengths()[0], Lengths { prompt: Some(906), output: Some(446) });
}

#[test]
fn a_file_of_ones_own_names_its_columns_and_their_unit() {
    let text = "when,in,out\n10,5,6\n12.5,7,8\nlater,7,8\n";
    let change = |unit| {
        move |source: &mut Source| {
            source.columns = Columns {
                time: Some(("when".to_owned(), unit)),
                prompt_tokens: Some("in".to_owned()),
                output_tokens: Some("out".to_owned()),
                ..Columns::default()
            };
        }
    };
    let set = scanned_with(text, change(TimeUnit::Us)).unwrap();
    assert_eq!((set.format(), set.times()[1].as_nanos()), (Format::Csv, 2_500));
    assert_eq!(skipped(&set), [(SkipReason::Time, 1)]);
    let lines = "{\"when\": \"10\", \"in\": 5, \"out\": 6.0}\n{\"when\": 11, \"in\": \"7\", \"out\": 8}\n";
    let set = scanned_with(lines, change(TimeUnit::S)).unwrap();
    assert_eq!((set.format(), ms(&set)), (Format::Jsonl, vec![0, 1_000]));
}

#[test]
fn only_rows_of_the_span_are_kept_and_the_others_counted() {
    let span = |from, to| Span::new(Duration::from_millis(from), to);
    let within = |from, to| {
        scanned_with(MOONCAKE, |source| source.span = Some(span(from, Some(Duration::from_millis(to)))))
    };
    let set = within(30, 10).unwrap();
    assert_eq!((ms(&set), set.outside()), (vec![30], 4));
    assert_eq!(set.row(0).unwrap().size.unwrap().prompt_tokens, 10);
    let none = within(500, 10).unwrap_err();
    assert!(matches!(none, ScanError::Outside { rows: 5, .. }), "{none}");
    let both = span(30, Some(Duration::from_millis(5))).with(span(10, Some(Duration::from_millis(2))));
    assert_eq!(both, span(10, Some(Duration::from_millis(25))));
    assert_eq!(both.with(span(50, None)).to, None);
}

#[test]
fn rows_whose_answers_have_no_length_are_left_out_where_it_is_wanted() {
    let text = "{\"prompt\": \"a\", \"output_tokens\": 3}\n{\"prompt\": \"b\"}\n{\"prompt\": \"c\", \"output_tokens\": \"x\"}\n";
    let set = scanned_with(text, |source| source.uses_output_tokens = true).unwrap();
    assert_eq!(skipped(&set), [(SkipReason::Number, 1), (SkipReason::NoLength, 1)]);
    assert_eq!(set.lengths(), [Lengths { prompt: None, output: Some(3) }]);
}

#[test]
fn an_order_goes_on_where_a_time_is() {
    let set = scanned_with(MOONCAKE, |_| {}).unwrap();
    let source = Source::of(PathBuf::new());
    let mut order = set.order(&source, Seed(1), "replay");
    order.seek(Duration::from_millis(30));
    assert_eq!(order.clone().collect::<Vec<_>>(), [1, 2]);
    order.seek(Duration::ZERO);
    assert_eq!(order.lengths(2).unwrap().prompt, Some(600));
    assert_eq!(order.count(), 3);
}
