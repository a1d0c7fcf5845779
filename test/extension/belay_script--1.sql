SELECT belay.create_hub('from_script');
